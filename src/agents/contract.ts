import { z } from 'zod';
import { defineRoute, ratedJsonAnswer } from '../platform/http/contract/route.js';
import { Agent, AGENT_EXAMPLE, AgentChangesBody, AgentList, AgentsQuery, NewAgentBody } from './schemas.js';

const agentParams = z.object({
  agent_id: z.string().meta({ description: 'Agent identifier.', examples: [AGENT_EXAMPLE.agent_id] }),
});

const json = 'application/json';
const agentAnswer = ratedJsonAnswer('The agent.', Agent, { agent: AGENT_EXAMPLE });

/** Routes for the agents of the requesting account. */
export const agentRoutes = {
  listAgents: defineRoute({
    method: 'get',
    path: '/agents',
    tag: 'Agents',
    summary: 'List agents',
    description: 'In live mode the live agents, in test mode the test agents as well; mode tells which is which.',
    auth: 'keyOrSession',
    load: 'list',
    query: AgentsQuery,
    success: ratedJsonAnswer('A page of agents.', AgentList, { page: { data: [AGENT_EXAMPLE], has_more: false } }),
    errors: [],
  }),
  createAgent: defineRoute({
    method: 'post',
    path: '/agents',
    tag: 'Agents',
    summary: 'Create an agent',
    description:
      'It belongs to the mode of the key, or to the one that a member names. Live calls know live agents only; test calls may use both.',
    auth: 'keyOrSession',
    load: 'detail',
    changes: 'mode',
    body: {
      contentType: json,
      schema: NewAgentBody,
      examples: { agent: { name: 'Reminders', instruction: 'Remind the caller of the appointment.' } },
    },
    success: agentAnswer,
    errors: ['CONFLICT'],
  }),
  readAgent: defineRoute({
    method: 'get',
    path: '/agents/{agent_id}',
    tag: 'Agents',
    summary: 'Read an agent',
    description:
      'Returns the agent, also when it is archived. A live key does not find test agents; a test key finds both.',
    auth: 'keyOrSession',
    load: 'detail',
    params: agentParams,
    success: agentAnswer,
    errors: ['AGENT_NOT_FOUND'],
  }),
  updateAgent: defineRoute({
    method: 'patch',
    path: '/agents/{agent_id}',
    tag: 'Agents',
    summary: 'Change an agent',
    description:
      'Calls that run keep the agent as it was when they were asked for. An archived agent is not found. A test key changes test agents only.',
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
    success: agentAnswer,
    errors: ['AGENT_NOT_FOUND'],
  }),
  archiveAgent: defineRoute({
    method: 'delete',
    path: '/agents/{agent_id}',
    tag: 'Agents',
    summary: 'Archive an agent',
    description:
      'No new call can use it; it can still be read. Refused while it takes the calls of a number or of the account. A test key archives test agents only.',
    auth: 'keyOrSession',
    load: 'detail',
    changes: 'agent',
    params: agentParams,
    success: ratedJsonAnswer('The archived agent.', Agent, {
      archived: { ...AGENT_EXAMPLE, archived_at: '2026-11-22T10:00:00.000Z' },
    }),
    errors: ['AGENT_NOT_FOUND', 'CONFLICT'],
  }),
};
