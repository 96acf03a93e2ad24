// `planner chat`: talk with the planner in a terminal, or through a pipe.

import type { Readable, Writable } from 'node:stream';
import {
  connect,
  createRest,
  ConnectionError,
  errorCode,
  newMessageId,
  proposedChangesets,
  projectModel,
  type Feed,
  type Me,
  type Message,
  type Output,
  type Realtime,
  type Rest,
  type Session,
  type SessionView,
} from '../client/index.ts';
import { runCommand } from './chat-commands.ts';
import { reviewChangeset, type ApplyMode, type Talk } from './chat-review.ts';
import { header, newestTurns, proposedIn, renderMessages } from './chat-view.ts';
import { Lines } from './lines.ts';
import { cleanLine, howToGetRole, plural, problemText, styles, UsageError, type Style } from './print.ts';
import type { Target } from './target.ts';
import { endNotice, TurnPrinter } from './turn-printer.ts';

export interface ChatOptions extends Target {
  session?: string;
  project?: string;
  /** What to do with changesets that a turn proposes. */
  apply: ApplyMode;
}

export interface Terminal {
  input: Readable;
  output: Writable;
  /** Through a pipe: where all goes but answers and what was applied. By default the output. */
  notices?: Writable;
  /** A person sits there: prompts, streaming text, questions. */
  interactive: boolean;
  colour: boolean;
}

interface Running {
  turn: string;
  done: PromiseWithResolvers<string>;
}

const leaveMilliseconds = 2_000;
const shownMessages = 12;

/** Runs until the input ends or the person leaves. Returns the exit code. Errors: UsageError, and the client's. */
export async function chat(options: ChatOptions, terminal: Terminal): Promise<number> {
  const talk = new Chat(options, terminal);
  try {
    return await Promise.race([talk.begin().then(() => talk.run()), talk.left]);
  } finally {
    talk.end();
  }
}

export class Chat implements Talk {
  readonly rest: Rest;
  readonly style: Style;
  readonly #options: ChatOptions;
  readonly #terminal: Terminal;
  readonly #lines: Lines;
  readonly #printer: TurnPrinter;
  readonly #left = Promise.withResolvers<void>();
  readonly #onSignal = (): void => this.#interrupt();
  #realtime: Realtime | undefined;
  #project = '';
  #session: Session | undefined;
  #watch: Feed<unknown> | undefined;
  #running: Running | undefined;
  #sending = false;
  /** Turns that ended before `send` had returned. */
  readonly #ended = new Map<string, string>();
  #proposals = new Set<string>();
  #announced = '';
  #interruptedAt = -Infinity;
  #lost = false;
  #failed = false;
  /** The turn that runs is the last one. */
  #stopping = false;
  #leaving = false;

  constructor(options: ChatOptions, terminal: Terminal) {
    this.#options = options;
    this.#terminal = terminal;
    this.rest = createRest(options);
    this.style = styles(terminal.colour);
    const { notices } = terminal;
    this.#printer = new TurnPrinter({
      write: (text) => void terminal.output.write(text),
      ...(notices && !terminal.interactive ? { tell: (text: string) => void notices.write(text) } : {}),
      style: this.style,
      live: terminal.interactive,
    });
    this.#lines = new Lines({ ...terminal, onInterrupt: this.#onSignal });
    if (!terminal.interactive) process.on('SIGINT', this.#onSignal);
  }

  /** The exit code, once the person has left without waiting for anything. */
  get left(): Promise<number> {
    return this.#left.promise.then(() => (this.#failed ? 1 : 0));
  }

  get project(): string {
    return this.#project;
  }

  get session(): Session | undefined {
    return this.#session;
  }

  /** Signs in, finds project and session, shows where the conversation stands. */
  async begin(): Promise<void> {
    const me = await this.rest.me();
    this.#realtime = connect({ ...this.#options, onState: (state, problem) => this.#state(state, problem) });
    const view = this.#options.session === undefined ? undefined : await this.rest.session(this.#options.session);
    this.#project = view?.project ?? (await this.#chooseProject(me));
    if (this.#leaving) return;
    const model = projectModel(me, await this.rest.project(this.#project));
    this.say(header({ ...me, model }, this.#project, view, this.style, this.#terminal.interactive));
    if (view) await this.#enter(view);
  }

  /** Reads and answers until the end. Returns the exit code. Errors: UsageError when a pipe brings nothing. */
  async run(): Promise<number> {
    let empty = !this.#terminal.interactive;
    while (!this.#leaving) {
      await this.#settled();
      if (this.#terminal.interactive) this.#printer.line('');
      const line = await this.#message();
      if (line === undefined) break;
      if (line.trim() === '') continue;
      empty = false;
      try {
        if (line.startsWith('/')) {
          if ((await runCommand(this, line)) === 'quit') break;
        } else {
          await this.#send(line);
        }
      } catch (error) {
        this.fail(problemText(error));
      }
    }
    if (empty && !this.#failed) throw new UsageError(emptyInput);
    return this.#failed ? 1 : 0;
  }

  end(): void {
    process.off('SIGINT', this.#onSignal);
    this.#leaving = true;
    this.#lines.close();
    this.#realtime?.close();
  }

  say(text: string): void {
    this.#lines.hide();
    this.#printer.line(text);
    this.#lines.again();
  }

  show(text: string): void {
    this.#lines.hide();
    this.#printer.result(text);
    this.#lines.again();
  }

  fail(message: string): void {
    if (this.#leaving) return;
    this.#failed ||= !this.#terminal.interactive;
    this.say(this.style.red(`✗ ${message}`));
  }

  async ask(question: string): Promise<string | undefined> {
    for (;;) {
      await this.#lines.rest();
      if (this.#leaving || this.#stopping) return undefined;
      if (this.#lines.setAside()) this.say(this.style.dim(keptDraft));
      this.#printer.fresh();
      const answer = await this.#lines.answer(question);
      if (answer === undefined || !answer.includes('\n')) return answer;
      // No question wants several lines.
      this.#lines.setAside(answer);
      this.say(this.style.dim(keptDraft));
    }
  }

  #message(): Promise<string | undefined> {
    if (this.#leaving || this.#stopping) return Promise.resolve(undefined);
    this.#printer.fresh();
    return this.#lines.next(this.style.bold('> '));
  }

  /** Shows a changeset and asks what to do with it. */
  async review(id: string): Promise<void> {
    const mode = this.#options.apply === 'ask' && !this.#terminal.interactive ? 'none' : this.#options.apply;
    await reviewChangeset(this.rest, this, id, mode);
  }

  /** The next message begins a new session. */
  fresh(): void {
    this.#leaveSession();
    this.say('The next message begins a new session.');
  }

  async resume(id: string): Promise<void> {
    const view = await this.rest.session(id);
    this.#leaveSession();
    this.#project = view.project;
    await this.#enter(view);
  }

  async #chooseProject(me: Me): Promise<string> {
    const keys = me.projects.map((project) => project.key);
    const wanted = this.#options.project;
    if (wanted !== undefined) {
      const found = keys.find((key) => key === wanted.toUpperCase());
      if (found) return found;
      throw new UsageError(`There is no project ${cleanLine(wanted, 40)}. ${projectList(me)}`);
    }
    if (keys.length === 1) return keys[0]!;
    if (keys.length === 0) throw new UsageError(`${cleanLine(me.name, 80)} may not see any project. ${howToGetRole}`);
    if (!this.#terminal.interactive) throw new UsageError(`Name a project with --project. ${projectList(me)}`);
    me.projects.forEach((project, index) => this.say(`  ${index + 1}. ${project.key}  ${cleanLine(project.name, 80)}`));
    for (;;) {
      const answer = await this.ask('Project (number or key): ');
      if (answer === undefined) return ((this.#leaving = true), '');
      const choice = keys[Number(answer) - 1] ?? keys.find((key) => key === answer.trim().toUpperCase());
      if (choice) return choice;
      this.say(projectList(me));
    }
  }

  /** Shows the last messages and watches; a turn that runs goes on streaming. */
  async #enter(view: SessionView): Promise<void> {
    this.#session = view;
    const past = view.messages.filter((message) => message.turn !== view.running);
    const now = view.messages.filter((message) => message.turn === view.running && message.author !== undefined);
    for (const [leftOut, messages] of newestTurns(past, shownMessages)) {
      if (leftOut > 0) this.say(this.style.dim(`… ${plural(leftOut, 'earlier message')}`));
      for (const text of renderMessages(messages, this.style, past)) this.say(text);
    }
    for (const text of renderMessages(now, this.style)) this.say(text);
    if (view.running === undefined) return this.#follow(view.id, view.output);
    this.#running = { turn: view.running, done: Promise.withResolvers() };
    this.#follow(view.id, undefined);
    const watched = await this.#watch?.ready.catch(() => undefined);
    const running = (watched as { running?: string } | undefined)?.running;
    if (this.#running && running !== view.running) await this.#reload();
  }

  #follow(session: string, from: number | undefined): void {
    this.#watch = this.#realtime?.watch(
      session,
      {
        onOutput: (output) => this.#output(output),
        onResync: () => this.#reload(),
        onClosed: (reason) => this.#closed(reason),
      },
      from === undefined ? {} : { from_output: from },
    );
  }

  #leaveSession(): void {
    this.#watch?.close();
    this.#watch = undefined;
    this.#session = undefined;
    this.#running = undefined;
  }

  async #send(text: string): Promise<void> {
    if (!this.#session) {
      this.#session = await this.rest.createSession(this.#project);
      this.#follow(this.#session.id, 0);
      if (this.#terminal.interactive) this.say(this.style.dim(`session ${this.#session.id}`));
    }
    this.#sending = true;
    try {
      const sent = await this.#realtime!.send({ session: this.#session.id, text, message_id: newMessageId() });
      this.#running = { turn: sent.turn, done: Promise.withResolvers() };
      const ended = this.#ended.get(sent.turn);
      if (ended !== undefined) this.#running.done.resolve(ended);
    } finally {
      this.#sending = false;
    }
    await this.#settled();
  }

  /** Waits for the running turn, then shows what it proposed. */
  async #settled(): Promise<void> {
    const running = this.#running;
    if (!running) return;
    const reason = await running.done.promise;
    this.#running = undefined;
    this.#ended.clear();
    if (reason === 'error') this.#failed ||= !this.#terminal.interactive;
    const proposals = [...this.#proposals];
    this.#proposals.clear();
    for (const id of this.#stopping ? [] : proposals) {
      if (this.#terminal.interactive) this.#printer.line('');
      try {
        await this.review(id);
      } catch (error) {
        this.fail(problemText(error));
      }
    }
  }

  #output(output: Output): void {
    const ours = this.#sending || this.#running?.turn === output.turn;
    if (!ours && this.#announced !== output.turn) {
      this.#announced = output.turn;
      this.#lines.hide();
      this.#printer.line(this.style.dim('(another client talks to the planner in this session)'));
    }
    this.#printer.print(output);
    if (output.type !== 'done') return;
    if (ours) for (const id of proposedChangesets(this.#printer.view)) this.#proposals.add(id);
    this.#finish(output.turn, output.text);
    if (!ours) this.#lines.again();
  }

  #finish(turn: string, reason: string): void {
    if (this.#running?.turn === turn) this.#running.done.resolve(reason);
    else if (this.#sending) this.#ended.set(turn, reason);
  }

  /** Outputs are gone, or the watched turn ended unheard: what the transcript has and the screen has not. */
  async #reload(): Promise<number> {
    const session = this.#session!.id;
    const view = await this.rest.session(session);
    const running = this.#running;
    if (running) {
      const { turn, messages: seen } = this.#printer.view;
      const missed = view.messages.filter(
        (message) =>
          message.turn === running.turn &&
          message.author === undefined &&
          !(turn === running.turn && seen.includes(message.seq)),
      );
      this.#printer.line(this.style.dim('(caught up from the transcript)'));
      for (const text of renderMessages(missed, this.style, view.messages)) this.#printer.result(text);
      for (const id of proposedIn(view.messages, running.turn)) this.#proposals.add(id);
      this.#printer.reloaded(session, running.turn, view.output, view.messages.map((message: Message) => message.seq));
      if (view.running !== running.turn) await this.#conclude(session, running.turn);
    }
    return view.output;
  }

  async #conclude(session: string, id: string): Promise<void> {
    const turns = await this.rest.turns(session, { limit: 20 });
    const turn = turns.items.find((each) => each.id === id);
    const reason = turn?.reason ?? 'error';
    const failure = cleanLine(turn?.failure ?? 'The turn failed.', 500);
    if (reason === 'error') this.#printer.line(this.style.red(`✗ ${failure}`));
    const notice = endNotice(reason);
    if (notice) this.#printer.line(this.style.yellow(notice));
    this.#finish(id, reason);
  }

  #closed(reason: string): void {
    if (this.#leaving || reason === 'closed') return;
    const why = reason === 'forbidden' ? 'you may no longer read it' : reason.replaceAll('_', ' ');
    this.#failed = true;
    this.say(this.style.red(`✗ The session is closed to you: ${why}.`));
    this.#leave();
  }

  #state(state: string, problem: Error | undefined): void {
    if (this.#leaving) return;
    if (state === 'waiting' && !this.#lost) {
      this.#lost = true;
      this.say(this.style.yellow('(the connection to the planner is lost; connecting again …)'));
    } else if (state === 'open' && this.#lost) {
      this.#lost = false;
      this.say(this.style.yellow('(connected again)'));
    } else if (state === 'closed' && problem) {
      this.#failed = true;
      this.say(this.style.red(`✗ ${problemText(problem)}`));
      this.#leave();
    }
  }

  /** Ctrl-C: cancels a running turn; twice within two seconds leaves. */
  #interrupt(): void {
    const again = Date.now() - this.#interruptedAt < leaveMilliseconds;
    this.#interruptedAt = Date.now();
    const running = this.#running;
    if (again) return this.#leave();
    if (running && this.#session) {
      if (!this.#terminal.interactive) this.#failed = this.#stopping = true;
      this.say(this.style.yellow('(cancelling; Ctrl-C again leaves)'));
      this.#realtime?.cancel({ session: this.#session.id, turn: running.turn }).catch((error: unknown) => {
        if (!(error instanceof ConnectionError) || errorCode(error) !== 'closed') this.fail(problemText(error));
      });
    } else if (this.#terminal.interactive) {
      this.#lines.clear();
      this.say(this.style.dim('(Ctrl-C again leaves; so does /quit)'));
    } else {
      this.#failed = true;
      this.#leave();
    }
  }

  #leave(): void {
    this.#leaving = true;
    this.#left.resolve();
  }
}

const keptDraft = '(what you had typed is kept for your next message)';
const emptyInput =
  'Nothing came in to be sent. Pipe a message, such as: echo "plan a search page" | planner chat --apply all';

function projectList(me: Me): string {
  const projects = me.projects.map((project) => `${project.key} (${cleanLine(project.name, 60)})`);
  return `Projects: ${projects.join(', ') || 'none'}.`;
}
