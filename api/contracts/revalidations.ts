// Re-validations of the bounded runner and their schedules (spec: bounded-claude 9).

import { z } from 'zod';
import { hosts, roles } from '../../domain/bounded/identity.ts';
import { reportAttempt, reportFailure, reportHashes, reportSchema } from '../../domain/revalidation/report.ts';
import { listOf, longPageQuery, pageQuery, time, uuid } from './common.ts';

const asked = {
  /** A registered alias. */
  repo: z.string(),
  host: z.enum(hosts),
  role: z.enum(roles),
  /** USD for each of the three runs; default 2, at most 10. */
  max_budget_usd: z.number().optional(),
  /** A scripted CLI answers by rule; no model is asked, nothing is claimed of one. */
  demo: z.boolean().optional(),
};

export const newRevalidation = z.strictObject(asked).meta({ id: 'NewRevalidation' });
export type NewRevalidationBody = z.infer<typeof newRevalidation>;

export const startedRevalidation = z.strictObject({
  validation_id: z.string(),
  workflow_id: z.string(),
  /** The workflow in the Temporal UI, where its address is known. */
  workflow_url: z.string().optional(),
}).meta({ id: 'StartedRevalidation' });
export type StartedRevalidationBody = z.infer<typeof startedRevalidation>;

/** As in report.json, its claim as it stands now. */
export const revalidation = reportSchema.extend({
  attempts: z.array(reportAttempt.meta({ id: 'RevalidationAttempt' })),
  failures: z.array(reportFailure.meta({ id: 'RevalidationFailure' })),
  hashes: reportHashes.meta({ id: 'RevalidationHashes' }).nullable(),
  project: z.string(),
  machine: z.string(),
  /** For people. */
  phase: z.string(),
  cancel_requested: z.boolean(),
  workflow_url: z.string().optional(),
}).meta({ id: 'Revalidation' });
export type RevalidationBody = z.infer<typeof revalidation>;

export const revalidations = listOf(revalidation);

export const revalidationsQuery = pageQuery.extend({ project: z.string().optional() });
export type RevalidationsQuery = z.input<typeof revalidationsQuery>;

export const acknowledgement = z.strictObject({
  /** The failure's number; default: all that nobody has acknowledged. */
  failure: z.number().int().min(1).optional(),
  /** What was found; at most 500 characters, no secret-like text. */
  note: z.string().optional(),
}).meta({ id: 'RevalidationAcknowledgement' });
export type AcknowledgementBody = z.infer<typeof acknowledgement>;

export const reportQuery = z.strictObject({ form: z.enum(['md', 'json']).default('md') });
export type ReportQuery = z.input<typeof reportQuery>;

const timing = {
  /** Five fields of cron in UTC: minute hour day-of-month month day-of-week; or @daily and its like. */
  cron: z.string(),
  /** Each time is late by up to as much. 0-3,600, default 300. */
  jitter_seconds: z.number().optional(),
  /** A time that was missed is made up for within as much. 60-604,800, default 43,200. */
  catchup_seconds: z.number().optional(),
  paused: z.boolean().optional(),
  /** At most 500 characters. */
  note: z.string().optional(),
};

export const newRevalidationSchedule = z.strictObject({ ...asked, ...timing }).meta({ id: 'NewRevalidationSchedule' });
export type NewRevalidationScheduleBody = z.infer<typeof newRevalidationSchedule>;

export const revalidationSchedulePatch = z.strictObject({
  ...timing,
  cron: timing.cron.optional(),
  max_budget_usd: asked.max_budget_usd,
}).meta({ id: 'RevalidationSchedulePatch' });
export type RevalidationSchedulePatchBody = z.infer<typeof revalidationSchedulePatch>;

export const revalidationSchedule = z.strictObject({
  id: uuid,
  repo: z.string(),
  project: z.string(),
  machine: z.string(),
  host: z.string(),
  role: z.string(),
  cron: z.string(),
  jitter_seconds: z.number().int(),
  catchup_seconds: z.number().int(),
  max_budget_usd: z.number(),
  demo: z.boolean(),
  paused: z.boolean(),
  note: z.string(),
  /** Temporal has it as it is here. */
  in_effect: z.boolean(),
  /** The next ones; none while it is paused. */
  next_times: z.array(time),
  /** Times that were missed for good, and those at which another one was under way. */
  missed_catchup: z.number().int(),
  overlap_skipped: z.number().int(),
  created_by: z.string(),
  created_at: time,
}).meta({ id: 'RevalidationSchedule' });
export type RevalidationScheduleBody = z.infer<typeof revalidationSchedule>;

export const revalidationSchedulesQuery = longPageQuery.extend({ project: z.string().optional() });
export type RevalidationSchedulesQuery = z.input<typeof revalidationSchedulesQuery>;

/** Both past; at most 10 times of the schedule lie in between. */
export const backfill = z.strictObject({
  from: z.iso.datetime({ offset: true }),
  to: z.iso.datetime({ offset: true }),
}).meta({ id: 'RevalidationBackfill' });
export type BackfillBody = z.infer<typeof backfill>;

export const backfilled = z.strictObject({ times: z.array(time) }).meta({ id: 'RevalidationBackfilled' });
export type BackfilledBody = z.infer<typeof backfilled>;
