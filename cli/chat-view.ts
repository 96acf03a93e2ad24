// What the chat shows around a turn: its header, and messages of the transcript. Pure.

import type { Me, Message, Session } from '../client/index.ts';
import { clean, cleanLine, indent, type Style } from './print.ts';
import { answeredNothing, callLine, resultLine } from './turn-printer.ts';

/** Who, where, which model: the project's. A demo model is always called one. */
export function header(
  me: Me,
  project: string,
  session: Session | undefined,
  style: Style,
  interactive: boolean,
): string {
  const name = me.projects.find((each) => each.key === project)?.name ?? '';
  const where = `${style.bold(project)} ${cleanLine(name, 80)}`.trimEnd();
  const conversation = session ? `session "${cleanLine(session.title, 80)}"` : 'new session';
  const model = me.model.demo
    ? style.yellow(`${cleanLine(me.model.name, 60)}: DEMO MODEL, plans by rule and understands nothing`)
    : cleanLine(me.model.name, 60);
  const mend = me.model.demo
    ? [style.dim('For a real one set PLANNER_MODEL_BASE_URL, PLANNER_MODEL_API_KEY, PLANNER_MODEL before "npm start".')]
    : [];
  const keys = '/help lists the commands; Ctrl-C cancels a turn; a line ending in \\ goes on.';
  const help = interactive ? [style.dim(keys)] : [];
  return [`${where} · ${conversation} · model ${model}`, ...mend, ...help].join('\n');
}

/**
 * Messages as text blocks, each to be printed on lines of its own; empty ones are left out. `all` is where the names of
 * called tools are looked up.
 */
export function renderMessages(messages: readonly Message[], style: Style, all = messages): string[] {
  const names = toolNames(all);
  return messages.flatMap((message) => {
    const parts = message.blocks.flatMap((block) => {
      if (block.type === 'tool_use') return [callLine(block.name, block.input, style)];
      if (block.type === 'tool_result') {
        return [resultLine(names.get(block.tool_use_id) ?? 'tool', block.text, block.is_error, style)];
      }
      const text = clean(block.text).trim();
      if (text === '') return [];
      return [message.author === undefined ? text : style.bold(indent(text, '> '))];
    });
    if (message.stop_reason === 'end_turn' && parts.length === 0) parts.push(style.yellow(answeredNothing));
    if (message.stop_reason === 'cancelled') parts.push(style.yellow('(cancelled)'));
    return parts.length === 0 ? [] : [parts.join('\n')];
  });
}

/**
 * The newest turns, whole, with about `limit` messages together. Of a longer last turn: what the human said and the
 * newest messages. `[leftOut, messages]` pairs: how many messages are left out before these.
 */
export function newestTurns(messages: readonly Message[], limit: number): [number, readonly Message[]][] {
  const starts = messages.flatMap((message, index) => (message.turn === messages[index - 1]?.turn ? [] : [index]));
  const last = starts.at(-1) ?? 0;
  if (messages.length - last <= limit) {
    const from = starts.find((start) => messages.length - start <= limit) ?? 0;
    return [[from, messages.slice(from)]];
  }
  const first = messages[last]?.author === undefined ? last : last + 1;
  const tail = Math.max(first, messages.length - limit + 1);
  return [
    [last, messages.slice(last, first)],
    [tail - first, messages.slice(tail)],
  ];
}

/** Ids of the changesets that a turn proposed, from the transcript. */
export function proposedIn(messages: readonly Message[], turn: string): string[] {
  const names = toolNames(messages);
  return messages.flatMap((message) =>
    message.blocks.flatMap((block) => {
      if (message.turn !== turn || block.type !== 'tool_result' || block.is_error) return [];
      if (names.get(block.tool_use_id) !== 'propose_changeset') return [];
      const [, id] = /"changeset":\s*"([^"]+)"/.exec(block.text) ?? [];
      return id === undefined ? [] : [id];
    }),
  );
}

function toolNames(messages: readonly Message[]): Map<string, string> {
  return new Map(
    messages.flatMap((message) =>
      message.blocks.flatMap((block): [string, string][] =>
        block.type === 'tool_use' ? [[block.tool_use_id, block.name]] : [],
      ),
    ),
  );
}
