// One session as a page follows it: transcript, running turn, sending, stopping. No React; the view subscribes.

import {
  ConnectionError,
  emptyView,
  errorCode,
  fold,
  newMessageId,
  type Feed,
  type Message,
  type Output,
  type Realtime,
  type Rest,
  type Session,
  type SessionView,
  type TurnView,
  type WatchResult,
} from '../../../client/index.ts';

export interface ConversationState {
  phase: 'reading' | 'ready' | 'failed';
  /** Why reading failed, or why nothing more arrives; for people. */
  problem?: string;
  session?: Session;
  messages: readonly Message[];
  /** What the model sees of it. */
  context?: Context;
  /** The newest turn that was heard of, as far as it was heard. */
  view: TurnView;
  /** The turn that runs. */
  running?: string;
  /** What is being sent, or was sent and is not in the transcript yet. */
  outgoing?: { text: string; seq?: number };
  stopping: boolean;
}

/** `summary` stands for the messages up to `upTo` (0: none) in what the model sees. */
export interface Context {
  summary: string;
  upTo: number;
  meter: SessionView['meter'];
}

const contextOf = ({ summary, summary_up_to: upTo, meter }: SessionView): Context => ({ summary, upTo, meter });

type Clients = { rest: Pick<Rest, 'session'>; realtime: Pick<Realtime, 'watch' | 'send' | 'cancel'> };

/** Runs soon, once; outputs that arrive until then are folded together. */
export type Soon = (work: () => void) => void;

const closedWords: Record<string, string> = {
  forbidden: 'The right to read this session was lost. What is shown may be out of date.',
  not_found: 'This session does not exist any more.',
};

export class Conversation {
  readonly id: string;
  readonly #clients: Clients;
  readonly #soon: Soon;
  readonly #listeners = new Set<() => void>();
  #state: ConversationState = { phase: 'reading', messages: [], view: emptyView, stopping: false };
  #feed: Feed<WatchResult> | undefined;
  #outputs: Output[] = [];
  #reading: Promise<void> | undefined;
  #readAgain = false;
  #unsure: { text: string; message_id: string } | undefined;
  #run = 0;

  constructor(id: string, clients: Clients, soon: Soon) {
    this.id = id;
    this.#clients = clients;
    this.#soon = soon;
  }

  get state(): ConversationState {
    return this.#state;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Reads the whole transcript and follows what comes; also the way to begin anew. */
  async open(): Promise<void> {
    const run = ++this.#run;
    this.#feed?.close();
    this.#outputs = [];
    try {
      const read = await this.#clients.rest.session(this.id);
      const { messages, output, summary: _, summary_up_to: __, meter: ___, next: ____, ...session } = read;
      if (run !== this.#run) return;
      const { outgoing } = this.#state;
      this.#state = {
        phase: 'ready',
        session,
        messages,
        context: contextOf(read),
        view: emptyView,
        stopping: false,
        ...(session.running ? { running: session.running } : {}),
        ...(outgoing ? { outgoing } : {}),
      };
      this.#settleOutgoing();
      this.#told();
      this.#watch(run, session.running, output);
    } catch (error) {
      if (run !== this.#run) return;
      const problem = error instanceof Error ? error.message : 'The session can’t be read.';
      const phase = this.#state.phase === 'ready' ? 'ready' : 'failed';
      this.#enter({ phase, problem });
    }
  }

  close(): void {
    this.#run++;
    this.#feed?.close();
    this.#feed = undefined;
  }

  /**
   * Resolves once the message is committed. Safe to repeat with the same text after a failure whose effect is unknown:
   * it is the same message then.
   */
  async send(text: string): Promise<void> {
    const message_id = this.#unsure?.text === text ? this.#unsure.message_id : newMessageId();
    this.#unsure = undefined;
    this.#enter({ outgoing: { text } });
    try {
      const { seq, turn } = await this.#clients.realtime.send({ session: this.id, text, message_id });
      this.#enter({ outgoing: { text, seq } });
      const over = this.#state.view.turn === turn && this.#state.view.status === 'ended';
      if (!over && !this.#state.messages.some((message) => message.turn === turn)) this.#enter({ running: turn });
      this.#settleOutgoing();
      this.#readMore();
    } catch (error) {
      if (error instanceof ConnectionError) this.#unsure = { text, message_id };
      this.#without('outgoing');
      throw error;
    }
  }

  /** Ends the running turn; what was streamed stays. */
  async stop(): Promise<void> {
    const turn = this.#state.running;
    if (turn === undefined || this.#state.stopping) return;
    this.#enter({ stopping: true });
    try {
      await this.#clients.realtime.cancel({ session: this.id, turn });
    } catch (error) {
      this.#enter({ stopping: false });
      throw error;
    }
  }

  /** The session was renamed or archived elsewhere on this page. */
  renamed(session: Session): void {
    this.#enter({ session });
  }

  #watch(run: number, running: string | undefined, output: number): void {
    const here = (): boolean => run === this.#run;
    const feed = this.#clients.realtime.watch(
      this.id,
      {
        onOutput: (each) => here() && this.#heard(each),
        onResync: () => {
          if (here()) void this.open();
        },
        onClosed: (reason) => here() && this.#enter({ problem: closedWords[reason] ?? 'Nothing more arrives here.' }),
      },
      // A turn that runs is told from its start; else what comes after what was read.
      running ? {} : { from_output: output },
    );
    this.#feed = feed;
    feed.ready
      .then((result) => {
        // The turn that ran when the transcript was read has ended before the watch began.
        if (here() && running !== undefined && result.running !== running) void this.open();
      })
      .catch(() => undefined);
  }

  #heard(output: Output): void {
    this.#outputs.push(output);
    if (this.#outputs.length === 1) this.#soon(() => this.#foldHeard());
  }

  #foldHeard(): void {
    const outputs = this.#outputs;
    this.#outputs = [];
    let { view, running, stopping } = this.#state;
    let read = false;
    for (const output of outputs) {
      const begins = output.turn !== view.turn;
      view = fold(view, output);
      running = output.type === 'done' ? undefined : output.turn;
      if (output.type === 'done') stopping = false;
      // The first message of a turn is the human's, which only the transcript has.
      if (output.type === 'done' || output.type === 'compacted' || (begins && !this.#knows(output.turn))) read = true;
    }
    const { running: _, ...rest } = this.#state;
    this.#state = { ...rest, view, stopping, ...(running ? { running } : {}) };
    this.#told();
    if (read) this.#readMore();
  }

  #knows(turn: string): boolean {
    return this.#state.messages.some((message) => message.turn === turn && message.author !== undefined);
  }

  /** Reads what the transcript has more; asked again while it reads, it reads once more. */
  #readMore(): void {
    if (this.#reading) {
      this.#readAgain = true;
      return;
    }
    const run = this.#run;
    this.#reading = this.#readNext(run).finally(() => {
      this.#reading = undefined;
      const again = this.#readAgain && this.#feed !== undefined;
      this.#readAgain = false;
      if (again) this.#readMore();
    });
  }

  async #readNext(run: number): Promise<void> {
    const after = this.#state.messages.at(-1)?.seq ?? 0;
    try {
      const read = await this.#clients.rest.session(this.id, { after });
      if (run !== this.#run) return;
      const last = this.#state.messages.at(-1)?.seq ?? 0;
      const fresh = read.messages.filter(({ seq }) => seq > last);
      const { messages } = this.#state;
      this.#enter({ context: contextOf(read), messages: fresh.length > 0 ? [...messages, ...fresh] : messages });
      this.#settleOutgoing();
    } catch (error) {
      if (run !== this.#run) return;
      // A connection that is lost comes back; so does this.
      if (errorCode(error) === 'unreachable' || errorCode(error) === 'timeout') {
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        this.#readAgain = true;
      } else {
        this.#enter({ problem: error instanceof Error ? error.message : 'The session can’t be read.' });
      }
    }
  }

  #settleOutgoing(): void {
    const seq = this.#state.outgoing?.seq;
    if (seq !== undefined && this.#state.messages.some((message) => message.seq === seq)) this.#without('outgoing');
  }

  #without(field: 'outgoing'): void {
    const { [field]: _, ...rest } = this.#state;
    this.#state = rest;
    this.#told();
  }

  #enter(change: Partial<ConversationState>): void {
    this.#state = { ...this.#state, ...change };
    this.#told();
  }

  #told(): void {
    for (const listener of this.#listeners) listener();
  }
}
