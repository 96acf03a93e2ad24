// Judges the names of the environment's PLANNER_ variables: a mistyped one must not be ignored (spec: planner 13).

import { modelsVariable } from './models.ts';
import { distance } from './nearest.ts';
import { settings } from './settings.ts';

const prefix = 'PLANNER_';

/** Read elsewhere: by the commands, the tools' set-up, the workers. */
const others = [modelsVariable, 'PLANNER_ADDRESS', 'PLANNER_MACHINE', 'PLANNER_TOKEN', 'PLANNER_TOOLS_DIR'];

export interface Judged {
  /** Each names the variable that was meant. */
  mistyped: string[];
  /** Variables that nothing reads. */
  unread: string[];
}

/** Texts for a person. Values are never shown. */
export function judgeVariables(env: Readonly<Record<string, string | undefined>>): Judged {
  const known = [...settings.map(({ variable }): string => variable), ...others];
  const judged: Judged = { mistyped: [], unread: [] };
  for (const name of Object.keys(env)) {
    if (!name.startsWith(prefix) || known.includes(name)) continue;
    const meant = meantBy(name, known);
    if (meant) judged.mistyped.push(`${name} is not known; did you mean ${meant}?`);
    else judged.unread.push(`${name} is not known and is not used`);
  }
  return judged;
}

/** The known name with the fewest mistyped letters, else the one with the fewest words too many or too few. */
function meantBy(name: string, known: readonly string[]): string | undefined {
  const own = name.slice(prefix.length);
  if (known.includes(own)) return own;
  const rests = known.filter((each) => each.startsWith(prefix)).map((each) => each.slice(prefix.length));
  const allowed = Math.min(2, Math.max(1, Math.floor(own.length / 3)));
  const close = least(rests, (rest) => distance(own, rest), allowed);
  const found = close ?? least(rests, (rest) => wordsApart(own.split('_'), rest.split('_')), 1.5);
  return found === undefined ? undefined : prefix + found;
}

function least(names: readonly string[], measure: (name: string) => number, most: number): string | undefined {
  const [best] = names.map((name) => ({ name, by: measure(name) })).sort((a, b) => a.by - b.by);
  return best && best.by <= most ? best.name : undefined;
}

/** How many words `given` lacks, or has too many (the worse); Infinity unless one has all words of the other. */
function wordsApart(given: readonly string[], known: readonly string[]): number {
  const lacks = known.length - given.length;
  const [short, long] = lacks > 0 ? [given, known] : [known, given];
  let next = 0;
  for (const word of long) if (word === short[next]) next++;
  return next === short.length && next > 0 ? (lacks > 0 ? lacks : 0.5 - lacks) : Infinity;
}
