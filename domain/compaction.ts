// When a conversation is too long, what of it is summarized, and what a summary must keep. Pure. (spec: planner 8)

export { estimateTokens } from './tokens.ts';
