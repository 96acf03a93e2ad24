// Bounded runs as people use them: start, cancel, resume, read, watch, artifacts. Every function authorizes but those
// of repositories' own computers (spec: bounded-claude 1, 7, 8).

export { cancelRun, resumeRun, startRun, type NewRunRequest, type ResumeRequest } from './runs.ts';
export { authorizeRunWatch, listRuns, readRun, readRunOutputs, type AttemptView, type RunView } from './read.ts';
export { artifactNames, readArtifact, type Artifact, type ArtifactName } from './artifact.ts';
export { machineName } from './machine.ts';
export { listRepositories, registerRepository, repositoryByPath, type Repository } from '../store/repositories.ts';
