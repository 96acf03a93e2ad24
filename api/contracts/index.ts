// The contracts of REST and realtime: zod schemas and the types inferred from them. Clients import the types only.

export * from './changesets.ts';
export * from './common.ts';
export * from './gateway.ts';
export * from './identity.ts';
export * from './knowledge.ts';
export * from './planner.ts';
export * from './realtime.ts';
export * from './revalidations.ts';
export * from './runs.ts';
export * from './search.ts';
export * from './skills.ts';
export * from './tracker.ts';
