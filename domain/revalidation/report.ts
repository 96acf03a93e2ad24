// report.json and report.md of a re-validation (spec: bounded-claude 9). The JSON Schema lies beside it.

import { z } from 'zod';
import { failureKinds } from '../bounded/failures.ts';
import { hosts, roles } from '../bounded/identity.ts';
import { outcomes } from './claim.ts';
import { claims, findingKinds, purposes, validationStatuses } from './contract.ts';

const time = z.iso.datetime({ offset: true });
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const usd = z.number().nonnegative();

export const attemptKinds = [...failureKinds, 'interrupted'] as const;

export const reportAttempt = z.strictObject({
  number: z.number().int().min(1).describe('Over all runs, from 1.'),
  purpose: z.enum(purposes),
  outcome: z.enum(outcomes),
  kind: z.enum(attemptKinds).nullable().describe('`interrupted`: ended on purpose after the first text.'),
  detail: z.string().nullable(),
  run_id: z.string(),
  run: z.uuid().describe("The run's own id."),
  attempt: z.number().int().min(1).describe('Of the run.'),
  packet: z.string().describe('Relative to the repository.'),
  packet_sha256: sha256,
  packet_characters: z.number().int(),
  same_hashes: z.boolean(),
  session_id: z.string(),
  session: z.enum(['fresh', 'resume']),
  cost_usd: usd,
  cost_estimated: z.boolean(),
  started_at: time,
  ended_at: time.nullable(),
  duration_ms: z.number().int().nonnegative(),
});

export const reportFailure = z.strictObject({
  id: z.string().describe('For `partner revalidate --ack`.'),
  number: z.number().int().min(1),
  attempt: z.number().int().nullable(),
  kind: z.enum([...failureKinds, ...findingKinds]),
  detail: z.string(),
  inspected_by: z.string().nullable(),
  inspected_at: time.nullable(),
  note: z.string().nullable(),
});

export const reportHashes = z.strictObject({
  runner_sha256: sha256,
  identity_sha256: sha256.describe('Of backend, model and effort.'),
  cli_sha256: sha256,
  cli_version: z.string(),
  packets: z.array(z.strictObject({ file: z.string(), sha256, characters: z.number().int() })),
});

export const reportSchema = z.strictObject({
  schema_version: z.literal(1),
  validation_id: z.string(),
  repo: z.string().describe('The alias.'),
  host: z.enum(hosts),
  role: z.enum(roles),
  model: z.string().nullable(),
  effort: z.string().nullable(),
  demo: z.boolean(),
  status: z.enum(validationStatuses),
  claim: z.enum(claims),
  reasons: z.array(z.string()),
  problems: z.array(z.string()),
  hashes: reportHashes.nullable().describe('Null: it was rejected before it was bound to any.'),
  attempts: z.array(reportAttempt),
  failures: z.array(reportFailure),
  cost_usd: usd,
  cost_estimated: z.boolean(),
  asked_by: z.string(),
  schedule: z.uuid().nullable(),
  workflow: z.strictObject({ id: z.string(), run_id: z.string().nullable() }),
  created_at: time,
  started_at: time.nullable(),
  ended_at: time.nullable(),
});

export type Report = z.infer<typeof reportSchema>;
export type ReportAttempt = z.infer<typeof reportAttempt>;

/** The JSON Schema of report.json; committed as report.schema.json. */
export function reportJsonSchema(): Record<string, unknown> {
  return { title: 'report.json of a re-validation of the bounded runner', ...z.toJSONSchema(reportSchema) };
}

const claimSentences: Record<Report['claim'], string> = {
  holds: 'The claim **holds**: this runner, with this CLI and identity, may be released.',
  fails: 'The claim **fails**: do not release on it.',
  pending: 'The claim is **pending**: it says nothing yet.',
  stale: 'The claim is **stale**: something has changed since. Re-validate.',
};

const demoSentence = ' This was a **demonstration**: no model was asked, it claims nothing of one.';

/** The report for people: first the claim, then why, then what there is to do. */
export function reportText(report: Report): string {
  const { claim, reasons, status, demo } = report;
  const parts = [
    `# Re-validation ${report.validation_id}`,
    claimSentences[claim] + (demo ? demoSentence : ''),
    list(reasons),
    table([
      ['status', status],
      ['repository', report.repo],
      ['role', `${report.role} on ${report.host}`],
      ['model', report.model === null ? 'not known' : `${report.model}, effort ${report.effort}`],
      ['cost', costText(report)],
      ['asked by', report.schedule === null ? report.asked_by : `${report.asked_by}, by schedule ${report.schedule}`],
      ['asked', report.created_at],
      ['ended', report.ended_at ?? 'not yet'],
      ['workflow', report.workflow.id],
    ]),
    '## Attempts',
    attemptsText(report),
    '## Failures',
    failuresText(report),
    '## Bound to',
    hashesText(report),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

const list = (lines: readonly string[]): string => lines.map((line) => `- ${oneLine(line)}`).join('\n');
const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();
const cell = (text: string): string => oneLine(text).replaceAll('|', '\\|');
const row = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;

const table = (rows: readonly (readonly [string, string])[]): string =>
  ['| | |', '|---|---|', ...rows.map((cells) => row(cells))].join('\n');

const costText = ({ cost_usd, cost_estimated }: Pick<Report, 'cost_usd' | 'cost_estimated'>): string =>
  `${cost_usd.toFixed(4)} USD${cost_estimated ? ' (estimated)' : ''}`;

const purposeWords: Record<ReportAttempt['purpose'], string> = {
  fresh: 'fresh plan',
  interrupted: 'ended on purpose',
  recovery: 'same-session recovery',
};

function attemptsText({ attempts }: Report): string {
  if (attempts.length === 0) return 'None was made.';
  const head = ['#', 'purpose', 'outcome', 'kind', 'run', 'session', 'packet', 'cost', 'seconds'];
  const rows = attempts.map((one) => [
    String(one.number),
    purposeWords[one.purpose],
    one.outcome,
    one.kind ?? '-',
    one.attempt === 1 ? one.run_id : `${one.run_id}.r${one.attempt}`,
    `${one.session_id} (${one.session})`,
    `${one.packet_characters} characters`,
    costText(one),
    (one.duration_ms / 1_000).toFixed(1),
  ]);
  return [row(head), `|${'---|'.repeat(head.length)}`, ...rows.map(row)].join('\n');
}

function failuresText({ failures, validation_id }: Report): string {
  if (failures.length === 0) return 'None. The end on purpose is no failure.';
  const head = ['id', 'attempt', 'kind', 'what happened', 'inspected by', 'note'];
  const rows = failures.map((one) => [
    one.id,
    one.attempt === null ? '-' : String(one.attempt),
    one.kind,
    one.detail,
    one.inspected_by === null ? 'nobody yet' : `${one.inspected_by}, ${one.inspected_at}`,
    one.note ?? '-',
  ]);
  const open = failures.some(({ inspected_by }) => inspected_by === null);
  const how = `To record who inspected them: \`partner revalidate --ack ${validation_id} --note "what it was"\``;
  return [row(head), `|${'---|'.repeat(head.length)}`, ...rows.map(row), ...(open ? ['', how] : [])].join('\n');
}

function hashesText({ hashes }: Report): string {
  if (!hashes) return 'Nothing: it was rejected before.';
  return table([
    ['runner', `\`${hashes.runner_sha256}\``],
    ['identity', `\`${hashes.identity_sha256}\``],
    [`CLI ${hashes.cli_version}`, `\`${hashes.cli_sha256}\``],
    ...hashes.packets.map(({ file, sha256: hash }): [string, string] => [file, `\`${hash}\``]),
  ]);
}
