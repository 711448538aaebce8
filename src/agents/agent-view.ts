import { toPublic } from './agent-definition.js';
import { modeOfAgent } from './agent-mode.js';
import type { ListedAgent } from './model.js';
import type { Agent } from './schemas.js';
import { toolView } from './tool-headers.js';

/** Converts an agent's fields to their public names, as its owner sees them. Unset fields are absent. */
export function agentFieldsView(agent: ListedAgent) {
  const { tools, ...stored } = agent;
  return toPublic({ ...stored, tools: tools?.map(toolView) }) as Omit<
    Agent,
    'agent_id' | 'mode' | 'created_at' | 'updated_at' | 'archived_at'
  >;
}

/** Converts an agent to its representation in the management API. */
export function agentView(agent: ListedAgent): Agent {
  return {
    agent_id: agent._id,
    mode: modeOfAgent(agent),
    ...agentFieldsView(agent),
    created_at: agent.createdAt.toISOString(),
    updated_at: agent.updatedAt.toISOString(),
    ...(agent.archivedAt ? { archived_at: agent.archivedAt.toISOString() } : {}),
  };
}
