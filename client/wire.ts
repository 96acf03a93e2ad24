// What travels between the API and its clients, under the names that clients use. Types only, from the contracts.

import type { RpcResults } from '../api/contracts/index.ts';

export type {
  ApplyChangesetBody as ApplyChangeset,
  ArtifactQuery,
  ChangesetBody as Changeset,
  ChangesetQuery,
  ChangesetSummaryBody as ChangesetSummary,
  DependencyBody as Dependency,
  EventBody as Event,
  HistoryQuery,
  ItemBody as Item,
  ItemDependenciesBody as ItemDependencies,
  ItemPatchBody as ItemPatch,
  ItemQuery,
  ItemSummaryBody as ItemSummary,
  ItemTransitionBody as ItemTransition,
  List,
  MeBody as Me,
  MessageBody as Message,
  NewChangesetBody as NewChangeset,
  NewDependencyBody as NewDependency,
  NewItemBody as NewItem,
  NewMessageBody as NewMessage,
  NewRunBody as NewRun,
  NewSessionBody as NewSession,
  OperationBody as Operation,
  PageQuery,
  PlannerOutputParams as Output,
  ProjectBody as Project,
  RepositoryBody as Repository,
  ResumeBody as Resume,
  RunAttemptBody as RunAttempt,
  RunBody as Run,
  RunDetailsBody as RunDetails,
  RunOutputParams as RunOutput,
  RunQuery,
  RunsQuery,
  SentBody as Sent,
  SessionBody as Session,
  SessionPatchBody as SessionPatch,
  SessionQuery,
  SessionViewBody as SessionView,
  StartedRunBody as StartedRun,
  StreamEventParams as StreamEvent,
  TurnBody as Turn,
} from '../api/contracts/index.ts';

export type AuthResult = RpcResults['auth'];
export type PingResult = RpcResults['system.ping'];
export type WatchResult = RpcResults['planner.watch'];
export type SubscribeResult = RpcResults['stream.subscribe'];
export type RunWatchResult = RpcResults['run.watch'];
