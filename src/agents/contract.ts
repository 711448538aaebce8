import { z } from 'zod';
import { defineRoute, ratedJsonResponse } from '../platform/http/contract/route.js';
import {
  Agent,
  AGENT_EXAMPLE,
  AgentChangesBody,
  AgentList,
  AgentsQuery,
  NewAgentBody,
  SAVED_AGENT_EXAMPLE,
  SavedAgent,
} from './schemas.js';

const agentParams = z.object({
  agent_id: z.string().meta({ description: 'Agent identifier.', examples: [AGENT_EXAMPLE.agent_id] }),
});

const json = 'application/json';
const agentResponse = ratedJsonResponse('The agent.', Agent, { agent: AGENT_EXAMPLE });
const savedResponse = ratedJsonResponse('The agent as it was saved.', SavedAgent, {
  agent: AGENT_EXAMPLE,
  warned: SAVED_AGENT_EXAMPLE,
});

/** Routes for the agents of the requesting account. */
export const agentRoutes = {
  listAgents: defineRoute({
    method: 'get',
    path: '/agents',
    tag: 'Agents',
    summary: 'List agents',
    description: 'Live mode lists live agents; test mode lists live and test agents, distinguished by mode.',
    auth: 'keyOrSession',
    load: 'list',
    query: AgentsQuery,
    success: ratedJsonResponse('A page of agents.', AgentList, { page: { data: [AGENT_EXAMPLE], has_more: false } }),
    errors: [],
  }),
  createAgent: defineRoute({
    method: 'post',
    path: '/agents',
    tag: 'Agents',
    summary: 'Create an agent',
    description:
      'The agent belongs to the mode of the API key, or to the mode parameter of a member. Live calls can use live agents only; test calls can use both.',
    auth: 'keyOrSession',
    load: 'detail',
    changes: 'mode',
    body: {
      contentType: json,
      schema: NewAgentBody,
      examples: { agent: { name: 'Reminders', instruction: 'Remind the caller of the appointment.' } },
    },
    success: savedResponse,
    errors: ['CONFLICT'],
  }),
  readAgent: defineRoute({
    method: 'get',
    path: '/agents/{agent_id}',
    tag: 'Agents',
    summary: 'Read an agent',
    description:
      'Returns the agent, even if it is archived. A live key cannot read test agents; a test key can read both.',
    auth: 'keyOrSession',
    load: 'detail',
    params: agentParams,
    success: agentResponse,
    errors: ['AGENT_NOT_FOUND'],
  }),
  updateAgent: defineRoute({
    method: 'patch',
    path: '/agents/{agent_id}',
    tag: 'Agents',
    summary: 'Update an agent',
    description:
      'Calls in progress keep the agent as it was when they were requested. An archived agent returns 404. A test key can change test agents only.',
    auth: 'keyOrSession',
    load: 'detail',
    changes: 'agent',
    params: agentParams,
    body: {
      contentType: json,
      schema: AgentChangesBody,
      examples: { voice: { voice: 'amber', webhook_url: null } },
      onDemand: true,
    },
    success: savedResponse,
    errors: ['AGENT_NOT_FOUND'],
  }),
  archiveAgent: defineRoute({
    method: 'delete',
    path: '/agents/{agent_id}',
    tag: 'Agents',
    summary: 'Archive an agent',
    description:
      'New calls cannot use an archived agent; it can still be read. Rejected while the agent is assigned to a number or is the inbound agent. A test key can archive test agents only.',
    auth: 'keyOrSession',
    load: 'detail',
    changes: 'agent',
    params: agentParams,
    success: ratedJsonResponse('The archived agent.', Agent, {
      archived: { ...AGENT_EXAMPLE, archived_at: '2026-11-22T10:00:00.000Z' },
    }),
    errors: ['AGENT_NOT_FOUND', 'CONFLICT'],
  }),
};
