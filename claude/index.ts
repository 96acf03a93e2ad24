// The CLI boundary of bounded runs: command line, guard, supervision, artifacts (spec: bounded-claude 4, 5, 7).

export { cliEnvironment } from './environment.ts';
export { demoCli, findCli, CliError } from './find-cli.ts';
export { promptFor } from './prompt.ts';
export { superviseAttempt } from './supervise.ts';
export { recoverAttempt, sealAttempt } from './recover.ts';
export { sweepOrphans } from './sweep.ts';
export { defaultLimits } from './types.ts';
export type {
  AbortCause,
  AttemptFailure,
  AttemptHooks,
  AttemptLimits,
  AttemptOutcome,
  AttemptPhase,
  AttemptPlan,
  AttemptState,
  CliIdentity,
  LostAttempt,
  Swept,
  TextChange,
} from './types.ts';
export {
  assertInside,
  claimPlan,
  completeOrphanedRuns,
  createRunDir,
  foresee,
  publishPlan,
  releaseClaim,
  removeRaw,
  writeMetadata,
  writeRecovery,
  ArtifactError,
} from './artifacts.ts';
