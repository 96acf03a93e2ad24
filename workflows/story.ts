// What operators read of a workflow: its details while a worker holds it, its end among the search attributes. Ids,
// counts, classes and fixed phrases only. (spec: orchestration "Operators")

import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { SearchAttribute } from '../domain/search-attributes.ts';

const keyword = (name: SearchAttribute) => defineSearchAttributeKey(name, 'KEYWORD');

/** Says what the workflow does now, with the link to the page where it has one. */
export function tellNow(now: string): void {
  const page = workflowInfo().memo?.['page'];
  setCurrentDetails(typeof page === 'string' ? `${now}\n\n[open in the planner](${page})` : now);
}

/**
 * Says how the workflow ended. One that was started without search attributes goes on without: its server may not know
 * them, and in histories from before them there is no such command; so this needs no `patched()`.
 */
export function tellEnd(status: string, failure?: string): void {
  tellNow(failure === undefined ? `ended: ${status}` : `ended: ${status}, ${failure}`);
  if (workflowInfo().typedSearchAttributes.get(keyword('PlannerStatus')) === undefined) return;
  upsertSearchAttributes([
    { key: keyword('PlannerStatus'), value: status },
    ...(failure === undefined ? [] : [{ key: keyword('BoundedFailure'), value: failure }]),
  ]);
}
