import { z } from 'zod';
import { ratedJsonAnswer, type Route } from '../platform/http/contract/route.js';
import {
  NewPhoneNumberBody,
  NUMBER_EXAMPLE,
  PhoneNumber,
  PhoneNumberChangesBody,
  PhoneNumberList,
} from '../identity/accounts/schemas.js';
import { Agent, AGENT_EXAMPLE, AgentChangesBody, AgentList, AgentsQuery, NewAgentBody } from '../agents/schemas.js';

const agentParams = z.object({
  agent_id: z.string().meta({ description: 'Agent identifier.', examples: [AGENT_EXAMPLE.agent_id] }),
});
const numberParams = z.object({
  phone_number: z
    .string()
    .meta({ description: 'The number; its plus may be written %2B.', examples: ['+12025550142'] }),
});

const json = 'application/json';
const agentAnswer = ratedJsonAnswer('The agent.', Agent, { agent: AGENT_EXAMPLE });
const numberAnswer = ratedJsonAnswer('The number.', PhoneNumber, { number: NUMBER_EXAMPLE });

/** What an account sets up: agents and numbers. */
export const agentAndNumberRoutes = {
  listAgents: {
    method: 'get',
    path: '/agents',
    tag: 'Agents',
    summary: 'List agents',
    description: 'In live mode the live agents, in test mode the test agents as well; mode tells which is which.',
    auth: 'keyOrSession',
    query: AgentsQuery,
    success: ratedJsonAnswer('A page of agents.', AgentList, { page: { data: [AGENT_EXAMPLE], has_more: false } }),
    errors: [],
  },
  createAgent: {
    method: 'post',
    path: '/agents',
    tag: 'Agents',
    summary: 'Create an agent',
    description:
      'It belongs to the mode of the key, or to the one that a member names. Live calls know live agents only; test calls may use both.',
    auth: 'keyOrSession',
    changes: 'mode',
    body: {
      contentType: json,
      schema: NewAgentBody,
      examples: { agent: { name: 'Reminders', instruction: 'Remind the caller of the appointment.' } },
    },
    success: agentAnswer,
    errors: ['CONFLICT'],
  },
  readAgent: {
    method: 'get',
    path: '/agents/{agent_id}',
    tag: 'Agents',
    summary: 'Read an agent',
    description:
      'Returns the agent, also when it is archived. A live key does not find test agents; a test key finds both.',
    auth: 'keyOrSession',
    params: agentParams,
    success: agentAnswer,
    errors: ['AGENT_NOT_FOUND'],
  },
  updateAgent: {
    method: 'patch',
    path: '/agents/{agent_id}',
    tag: 'Agents',
    summary: 'Change an agent',
    description:
      'Calls that run keep the agent as it was when they were asked for. An archived agent is not found. A test key changes test agents only.',
    auth: 'keyOrSession',
    changes: 'agent',
    params: agentParams,
    body: { contentType: json, schema: AgentChangesBody, examples: { voice: { voice: 'amber', webhook_url: null } } },
    success: agentAnswer,
    errors: ['AGENT_NOT_FOUND'],
  },
  archiveAgent: {
    method: 'delete',
    path: '/agents/{agent_id}',
    tag: 'Agents',
    summary: 'Archive an agent',
    description:
      'No new call can use it; it can still be read. Refused while it takes the calls of a number or of the account. A test key archives test agents only.',
    auth: 'keyOrSession',
    changes: 'agent',
    params: agentParams,
    success: ratedJsonAnswer('The archived agent.', Agent, {
      archived: { ...AGENT_EXAMPLE, archived_at: '2026-11-22T10:00:00.000Z' },
    }),
    errors: ['AGENT_NOT_FOUND', 'CONFLICT'],
  },
  listPhoneNumbers: {
    method: 'get',
    path: '/phone_numbers',
    tag: 'Phone numbers',
    summary: 'List phone numbers',
    description: 'All of them, oldest first: the first is the one that agents without a number of their own call from.',
    auth: 'keyOrSession',
    success: ratedJsonAnswer('The numbers.', PhoneNumberList, { page: { data: [NUMBER_EXAMPLE], has_more: false } }),
    errors: [],
  },
  addPhoneNumber: {
    method: 'post',
    path: '/phone_numbers',
    tag: 'Phone numbers',
    summary: 'Add a phone number to the account',
    description:
      'A number has one owner. Where SELF_SERVICE_NUMBERS is off, as it is in production, operators give numbers and this is 403. Not with a test key.',
    auth: 'keyOrSession',
    changes: 'account',
    body: { contentType: json, schema: NewPhoneNumberBody, examples: { number: { phone_number: '+12025550142' } } },
    success: numberAnswer,
    errors: ['AGENT_NOT_FOUND', 'CONFLICT'],
  },
  readPhoneNumber: {
    method: 'get',
    path: '/phone_numbers/{phone_number}',
    tag: 'Phone numbers',
    summary: 'Read a phone number',
    description: 'Returns the number with the agent that takes its calls.',
    auth: 'keyOrSession',
    params: numberParams,
    success: numberAnswer,
    errors: ['NOT_FOUND'],
  },
  updatePhoneNumber: {
    method: 'patch',
    path: '/phone_numbers/{phone_number}',
    tag: 'Phone numbers',
    summary: 'Name the agent that takes calls to a number',
    description: 'Not with a test key.',
    auth: 'keyOrSession',
    changes: 'account',
    params: numberParams,
    body: {
      contentType: json,
      schema: PhoneNumberChangesBody,
      examples: { agent: { agent_id: AGENT_EXAMPLE.agent_id }, none: { agent_id: null } },
    },
    success: numberAnswer,
    errors: ['AGENT_NOT_FOUND', 'NOT_FOUND'],
  },
  removePhoneNumber: {
    method: 'delete',
    path: '/phone_numbers/{phone_number}',
    tag: 'Phone numbers',
    summary: 'Give a phone number up',
    description:
      'Refused while an agent calls from it. Not with a test key, and only where SELF_SERVICE_NUMBERS is on.',
    auth: 'keyOrSession',
    changes: 'account',
    params: numberParams,
    success: ratedJsonAnswer('The number, which is the account’s no more.', PhoneNumber, { number: NUMBER_EXAMPLE }),
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
} as const satisfies Record<string, Route>;
