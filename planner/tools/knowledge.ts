// Whose knowledge a call reads and writes, and for whom (spec: planner 6).

import type { KnowledgeWriter } from '../../store/knowledge.ts';
import type { ToolContext } from './tool.ts';

/** The session's organization; what the human may not see is left out, and may not be named. */
export function knowledgeOf({ project, human, actor }: ToolContext): KnowledgeWriter {
  const organization = { id: project.organization_id, key: project.organization_key };
  return { organization, principal: human, actor };
}
