// What a model call takes and gives.

import type { Block, ModelMessage, StopReason, Usage } from '../domain/transcript.ts';

export interface ModelSettings {
  /** Up to and without `/chat/completions`: `https://api.openai.com/v1`. */
  baseUrl: string;
  /** Empty for a provider that asks for none. */
  apiKey: string;
  model: string;
  /** Tokens of one answer at most. */
  maxTokens: number;
  /** A whole call, milliseconds. */
  callTimeoutMs: number;
  /** Time without a byte from the provider, milliseconds. */
  silentStreamMs: number;
  /** Where people change these, for error texts. Absent: the installation's environment variables. */
  places?: { key: string; baseUrl: string; model: string };
}

export interface ToolSchema {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

export interface ModelRequest {
  system: string;
  messages: readonly ModelMessage[];
  tools: readonly ToolSchema[];
  /** Its abort closes the provider's connection; the call rejects with the signal's reason. */
  signal: AbortSignal;
  onText(delta: string): void;
  /** Any sign of life from the provider: headers, deltas, reasoning, keep-alive comments. */
  onProgress?(): void;
  /** What the provider reports so far, also of an answer that is then cut off. */
  onUsage?(usage: Usage): void;
}

export interface ModelAnswer {
  /** At most one text block, then the calls in the model's order. */
  blocks: Block[];
  stop_reason: StopReason;
  /** As the provider names it. */
  model: string;
  /** Undefined: the provider reported none. */
  usage: Usage | undefined;
}
