// The request of a model call, in the style that its provider accepts.

import type OpenAI from 'openai';
import type { ModelRequest, ModelSettings } from './types.ts';
import { type WireStyle, wireMessages } from './wire.ts';

export interface RequestStyle extends WireStyle {
  limitField: 'max_tokens' | 'max_completion_tokens';
  askUsage: boolean;
}

type Body = OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming;
type Target = Pick<ModelSettings, 'baseUrl' | 'model'>;

const plain: RequestStyle = {
  limitField: 'max_tokens',
  askUsage: true,
  echoReasoning: false,
  alternate: false,
  shortIds: false,
};
const learned = new Map<string, RequestStyle>();
const maxLearned = 200;

/** What this process has learned about a provider's model, else the most widely accepted style. */
export function styleOf(target: Target): RequestStyle {
  return learned.get(`${target.baseUrl} ${target.model}`) ?? plain;
}

export function rememberStyle(target: Target, style: RequestStyle): void {
  if (learned.size >= maxLearned) learned.clear();
  learned.set(`${target.baseUrl} ${target.model}`, style);
}

/** The style that a refusal asks for; undefined: the refusal is about something else, or it was tried already. */
export function adaptedStyle(style: RequestStyle, refusal: string): RequestStyle | undefined {
  if (style.limitField === 'max_tokens' && /max_completion_tokens/.test(refusal)) {
    return { ...style, limitField: 'max_completion_tokens' };
  }
  if (style.askUsage && /stream_options|include_usage/.test(refusal)) return { ...style, askUsage: false };
  if (!style.echoReasoning && /reasoning_content/.test(refusal)) return { ...style, echoReasoning: true };
  if (!style.alternate && /must alternate|after role/i.test(refusal)) return { ...style, alternate: true };
  if (!style.shortIds && /id[^.]* must be a-z, A-Z, 0-9/.test(refusal)) return { ...style, shortIds: true };
  return undefined;
}

export function requestBody(settings: ModelSettings, request: ModelRequest, style: RequestStyle): Body {
  return {
    model: settings.model,
    messages: wireMessages(request.system, request.messages, style),
    stream: true,
    [style.limitField]: settings.maxTokens,
    ...(style.askUsage ? { stream_options: { include_usage: true } } : {}),
    ...(request.tools.length > 0
      ? { tools: request.tools.map((tool) => ({ type: 'function' as const, function: { ...tool } })) }
      : {}),
  };
}
