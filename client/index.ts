// The client of the planner's public API: REST, realtime, and the view of a running turn. No Node imports, no packages.

export { ApiError, ConnectionError, errorCode, RpcError } from './errors.ts';
export {
  connect,
  newMessageId,
  type CallOptions,
  type Feed,
  type Realtime,
  type RealtimeOptions,
  type RealtimeState,
  type RunHandlers,
  type StreamHandlers,
  type WatchHandlers,
} from './realtime.ts';
export { projectModel } from './model.ts';
export { createRest, pages, type Rest, type RestOptions } from './rest.ts';
export { emptyView, fold, openText, proposedChangesets, textSoFar, type Part, type ToolPart, type TurnView } from './turn-view.ts';
export type * from './wire.ts';
