// What travels between the API and its clients, under the names that clients use. Types only, from the contracts.

import type { RpcResults } from '../api/contracts/index.ts';

export type {
  ApplyChangesetBody as ApplyChangeset,
  ArtifactQuery,
  ChangesetBody as Changeset,
  ChangesetQuery,
  ChangesetSummaryBody as ChangesetSummary,
  CredentialBody as Credential,
  DependencyBody as Dependency,
  EventBody as Event,
  HistoryQuery,
  ItemBody as Item,
  ItemDependenciesBody as ItemDependencies,
  ItemPatchBody as ItemPatch,
  ItemQuery,
  ItemSummaryBody as ItemSummary,
  ItemTransitionBody as ItemTransition,
  KnowledgeEntryBody as KnowledgeEntry,
  KnowledgePatchBody as KnowledgePatch,
  KnowledgeQuery,
  KnowledgeSummaryBody as KnowledgeSummary,
  KnowledgeVersionBody as KnowledgeVersion,
  KnowledgeVersionSummaryBody as KnowledgeVersionSummary,
  List,
  MeBody as Me,
  MessageBody as Message,
  NewChangesetBody as NewChangeset,
  NewCredentialBody as NewCredential,
  NewDependencyBody as NewDependency,
  NewItemBody as NewItem,
  NewKnowledgeBody as NewKnowledge,
  NewMessageBody as NewMessage,
  NewOrganizationBody as NewOrganization,
  NewProjectBody as NewProject,
  NewRoleBindingBody as NewRoleBinding,
  NewRunBody as NewRun,
  NewSessionBody as NewSession,
  NewSkillBody as NewSkill,
  OperationBody as Operation,
  OrganizationBody as Organization,
  OrganizationPatchBody as OrganizationPatch,
  OrganizationViewBody as OrganizationView,
  PageQuery,
  PlannerOutputParams as Output,
  ProjectBody as Project,
  ProjectPatchBody as ProjectPatch,
  ProjectUsageBody as ProjectUsage,
  ProjectViewBody as ProjectView,
  RepositoryBody as Repository,
  ResolvedSkillBody as ResolvedSkill,
  ResumeBody as Resume,
  RoleBindingBody as RoleBinding,
  RoleBindingQuery,
  RunAttemptBody as RunAttempt,
  RunBody as Run,
  RunDetailsBody as RunDetails,
  RunOutputParams as RunOutput,
  RunQuery,
  RunsQuery,
  SentBody as Sent,
  SessionBody as Session,
  SessionMeterBody as SessionMeter,
  SessionPatchBody as SessionPatch,
  SessionQuery,
  SessionViewBody as SessionView,
  SkillBody as Skill,
  SkillPatchBody as SkillPatch,
  SkillPinBody as SkillPin,
  SkillPinInputBody as SkillPinInput,
  SkillPublicationBody as SkillPublication,
  SkillQuery,
  SkillSummaryBody as SkillSummary,
  SkillVersionBody as SkillVersion,
  SkillVersionSummaryBody as SkillVersionSummary,
  StartedRunBody as StartedRun,
  StreamEventParams as StreamEvent,
  TurnBody as Turn,
  UsageQuery,
  UsageRowBody as UsageRow,
  UsageTotalsBody as UsageTotals,
  VersionQuery,
} from '../api/contracts/index.ts';

export type AuthResult = RpcResults['auth'];
export type PingResult = RpcResults['system.ping'];
export type WatchResult = RpcResults['planner.watch'];
export type SubscribeResult = RpcResults['stream.subscribe'];
export type RunWatchResult = RpcResults['run.watch'];

/** By key. */
export type CredentialPlace = { organization: string } | { project: string };

export type { Found, KnowledgeHit, SearchHit } from '../domain/search.ts';
export interface SearchQuery {
  q: string;
  kind?: 'item' | 'skill';
  project?: string;
  /** 1-50, default 20. */
  limit?: number;
}
export interface KnowledgeSearchQuery {
  q: string;
  kind?: 'document' | 'decision' | 'note' | 'debt';
  /** 1-50, default 20. */
  limit?: number;
}
