// The command line of `partner revalidate`.

import type { Command } from 'commander';
import type { Host, Role } from '../../domain/bounded/identity.ts';
import { hostOption, jsonOption, number, repoOption, roleOption } from './options.ts';
import { reject } from './reject.ts';
import { findRepo } from './repo.ts';
import { act, revalidate, schedule, type Action, type Door } from './revalidate.ts';

interface Typed {
  repo?: string;
  host?: Host;
  role?: Role;
  schedule?: string;
  jitter?: number;
  catchup?: number;
  maxBudgetUsd?: number;
  demo?: boolean;
  detach?: boolean;
  json?: boolean;
  list?: boolean;
  report?: string;
  cancel?: string;
  ack?: string;
  note?: string;
  pause?: string;
  resume?: string;
  delete?: string;
  trigger?: string;
  backfill?: string;
  from?: string;
  to?: string;
}

/** `ended` hears the exit code. */
export function addRevalidateCommand(program: Command, door: Door, ended: (exitCode: number) => void): void {
  program
    .command('revalidate')
    .description('the release check: three near-limit runs, one interrupted and recovered; now, or by a schedule; paid')
    .addOption(repoOption())
    .addOption(hostOption())
    .addOption(roleOption())
    .option('--schedule <cron>', 'minute hour day-of-month month day-of-week, UTC, such as "0 3 * * 1"')
    .option('--jitter <seconds>', 'with --schedule: begin later by up to as much, by default 300', number)
    .option('--catchup <seconds>', 'with --schedule: make up for a missed time within it, by default 43200', number)
    .option('--max-budget-usd <usd>', 'for each of the runs, at most 10, by default 2', number)
    .option('--demo', 'a scripted CLI answers by rule: nothing is paid, nothing is claimed of a model')
    .option('--detach', 'return as soon as it is accepted; it goes on by itself')
    .option('--list', 'schedules with their next times, and the newest re-validations with their claims')
    .option('--report <id>', 'its report as it stands now')
    .option('--ack <id>', 'record that you inspected its failures; <id>.<number>: one of them')
    .option('--note <text>', 'with --ack or --schedule: what it was, or what it is for')
    .option('--cancel <id>', 'stop one that is under way')
    .option('--pause <schedule>', 'no more times until --resume')
    .option('--resume <schedule>', 'go on after --pause')
    .option('--trigger <schedule>', 'once more, now')
    .option('--backfill <schedule>', 'with --from and --to: make up for times that have passed')
    .option('--from <time>', 'ISO 8601, UTC')
    .option('--to <time>', 'ISO 8601, UTC')
    .option('--delete <schedule>', 'delete a schedule')
    .addOption(jsonOption())
    .action(async (typed: Typed) => {
      const action = actionOf(typed);
      if (action) return act(action, typed.json === true, door);
      const { host, role, ...more } = typed;
      if (host === undefined || role === undefined) {
        const missing = [host === undefined ? '--host' : '', role === undefined ? '--role' : ''].filter(Boolean);
        throw reject('usage', `${missing.join(' and ')} missing: name the role to re-validate.`);
      }
      const repo = findRepo(typed.repo);
      if (more.schedule === undefined) return ended(await revalidate({ ...more, host, role, repo }, door));
      return schedule({ ...more, schedule: more.schedule, host, role, repo }, door);
    });
}

const named = ['report', 'cancel', 'ack', 'pause', 'resume', 'trigger', 'backfill', 'delete'] as const;

/** What is asked of those that there are; undefined: a new one. */
function actionOf(typed: Typed): Action | undefined {
  const given = named.filter((name) => typed[name] !== undefined);
  const all = [...(typed.list ? ['list'] : []), ...given, ...(typed.schedule === undefined ? [] : ['schedule'])];
  if (all.length > 1) throw reject('usage', `One at a time: ${all.map((name) => `--${name}`).join(', ')}.`);
  if (typed.list) return { do: 'list' };
  const [name] = given;
  if (name === undefined) return undefined;
  const id = typed[name] ?? '';
  if (name === 'ack') return { do: 'ack', id, ...(typed.note === undefined ? {} : { note: typed.note }) };
  if (name !== 'backfill') return { do: name, id };
  const { from, to } = typed;
  if (!isTime(from) || !isTime(to)) {
    throw reject('usage', '--backfill needs --from and --to, times such as 2026-11-30T03:00:00Z.');
  }
  return { do: 'backfill', id, from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

const isTime = (text: string | undefined): text is string =>
  text !== undefined && /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text));
