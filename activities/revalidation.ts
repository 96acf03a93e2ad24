// What a re-validation does to the world, as Temporal activities: thin, each calls its room in bounded/.

import { Context } from '@temporalio/activity';
import type { HostRoom } from '../bounded/host.ts';
import { confirmValidation, prepareValidation, writeReport } from '../bounded/revalidation-host.ts';
import {
  concludeValidation,
  openValidation,
  openValidationRun,
  resumeValidationRun,
  validationRunEnded,
  type Timings,
} from '../bounded/revalidation-runs.ts';
import type { RevalidationActivities, RevalidationHostActivities } from '../domain/revalidation/contract.ts';
import type { Database } from '../store/database.ts';
import { setValidationPhase } from '../store/revalidations.ts';
import { living, told } from './bounded.ts';

/** `timings`: of the runs. */
export function revalidationActivities(database: Database, timings: Timings = {}): RevalidationActivities {
  return {
    openValidation: (input) => told(() => openValidation(database, input, workflow(), timings)),
    tellValidation: ({ validation, phase }) => told(() => setValidationPhase(database, validation, phase)),
    openValidationRun: (at) => told(() => openValidationRun(database, at, timings)),
    resumeValidationRun: (at) => told(() => resumeValidationRun(database, at, timings)),
    validationRunEnded: (at) => told(() => validationRunEnded(database, at)),
    concludeValidation: (input) => told(() => concludeValidation(database, input)),
  };
}

export function revalidationHostActivities(room: HostRoom): RevalidationHostActivities {
  return {
    prepareValidation: ({ validation }) =>
      living('preparing', 0, () => prepareValidation(room, validation, workflow().runId)),
    confirmValidation: ({ validation }) => living('confirming', 0, () => confirmValidation(room, validation)),
    writeValidationReport: ({ validation }) => living('reporting', 0, () => writeReport(room, validation)),
  };
}

function workflow(): { workflowId: string; runId: string } {
  const { workflowExecution } = Context.current().info;
  return { workflowId: workflowExecution?.workflowId ?? '', runId: workflowExecution?.runId ?? '' };
}
