import { z } from 'zod';
import { rateLimitHeaders, type Route } from '../platform/http/contract/route.js';
import {
  Account,
  ACCOUNT_EXAMPLE,
  AccountChangesBody,
  ApiKey,
  ApiKeyChangesBody,
  ApiKeyList,
  AuditLogPage,
  AuditQuery,
  KEY_EXAMPLE,
  NewApiKey,
  NewApiKeyBody,
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
const keyParams = z.object({
  key_id: z.string().meta({ description: 'Key identifier.', examples: [KEY_EXAMPLE.key_id] }),
});

const json = 'application/json';
const headers = rateLimitHeaders;
const ok = <T extends z.ZodType>(description: string, schema: T, examples: Record<string, unknown>) => ({
  description,
  contentType: json,
  schema,
  examples,
  headers,
});
const agentAnswer = ok('The agent.', Agent, { agent: AGENT_EXAMPLE });
const numberAnswer = ok('The number.', PhoneNumber, { number: NUMBER_EXAMPLE });
const keyAnswer = ok('The key.', ApiKey, { key: KEY_EXAMPLE });
const accountAnswer = ok('The account.', Account, { account: ACCOUNT_EXAMPLE });

/** What an account sets up: agents, numbers, keys, settings. */
export const accountRoutes = {
  listAgents: {
    method: 'get',
    path: '/agents',
    tag: 'Agents',
    summary: 'List agents',
    description: 'In live mode the live agents, in test mode the test agents as well; mode tells which is which.',
    auth: 'keyOrSession',
    query: AgentsQuery,
    success: ok('A page of agents.', AgentList, { page: { data: [AGENT_EXAMPLE], has_more: false } }),
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
    success: ok('The archived agent.', Agent, {
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
    success: ok('The numbers.', PhoneNumberList, { page: { data: [NUMBER_EXAMPLE], has_more: false } }),
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
    success: ok('The number, which is the account’s no more.', PhoneNumber, { number: NUMBER_EXAMPLE }),
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
  readAccount: {
    method: 'get',
    path: '/account',
    tag: 'Account',
    summary: 'Read the account',
    description: 'Returns the account with its limits in the mode of the request.',
    auth: 'keyOrSession',
    success: accountAnswer,
    errors: [],
  },
  updateAccount: {
    method: 'patch',
    path: '/account',
    tag: 'Account',
    summary: 'Change the account’s name or its active inbound agent',
    description: 'Members need to be owners. Not with a test key.',
    auth: 'keyOrSession',
    changes: 'account',
    roles: ['owner'],
    body: {
      contentType: json,
      schema: AccountChangesBody,
      examples: { inbound: { inbound_agent_id: AGENT_EXAMPLE.agent_id } },
    },
    success: accountAnswer,
    errors: ['AGENT_NOT_FOUND'],
  },
  listApiKeys: {
    method: 'get',
    path: '/api_keys',
    tag: 'API keys',
    summary: 'List the API keys of the mode',
    description: 'All of them, newest first. Members need to be owners or developers.',
    auth: 'keyOrSession',
    roles: ['owner', 'developer'],
    success: ok('The keys.', ApiKeyList, { page: { data: [KEY_EXAMPLE], has_more: false } }),
    errors: [],
  },
  createApiKey: {
    method: 'post',
    path: '/api_keys',
    tag: 'API keys',
    summary: 'Create an API key of the mode',
    description: 'The key is shown in this answer and never again. Members need to be owners. At most 100 active ones.',
    auth: 'keyOrSession',
    changes: 'mode',
    roles: ['owner'],
    body: { contentType: json, schema: NewApiKeyBody, examples: { key: { name: 'backend' } } },
    success: ok('The key.', NewApiKey, { key: { ...KEY_EXAMPLE, secret: 'sk_live_…' } }),
    errors: ['CONFLICT'],
  },
  updateApiKey: {
    method: 'patch',
    path: '/api_keys/{key_id}',
    tag: 'API keys',
    summary: 'Rename an API key or change its expiry',
    description: 'Members need to be owners.',
    auth: 'keyOrSession',
    changes: 'mode',
    roles: ['owner'],
    params: keyParams,
    body: {
      contentType: json,
      schema: ApiKeyChangesBody,
      examples: { expiry: { expires_at: '2027-12-01T00:00:00.000Z' }, name: { name: 'worker' } },
    },
    success: keyAnswer,
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
  revokeApiKey: {
    method: 'delete',
    path: '/api_keys/{key_id}',
    tag: 'API keys',
    summary: 'Revoke an API key',
    description: 'It and the keys that it has made are refused from the next request on. Members need to be owners.',
    auth: 'keyOrSession',
    changes: 'mode',
    roles: ['owner'],
    params: keyParams,
    success: ok('The revoked key.', ApiKey, {
      revoked: { ...KEY_EXAMPLE, state: 'revoked', revoked_at: '2026-11-22T10:00:00.000Z' },
    }),
    errors: ['NOT_FOUND'],
  },
  readAuditLog: {
    method: 'get',
    path: '/audit_log',
    tag: 'Account',
    summary: 'Read who changed what',
    description: 'Members need to be owners or developers. A test key reads only what was changed in test mode alone.',
    auth: 'keyOrSession',
    roles: ['owner', 'developer'],
    query: AuditQuery,
    success: ok('A page of changes.', AuditLogPage, {
      page: {
        data: [
          {
            id: 'audit_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
            at: '2026-11-21T10:00:00.000Z',
            mode: 'live',
            actor: { kind: 'member', id: 'user_01JD3Q4Z6WX8Y2V7T5R9S1K0MN', name: 'ada@example.com' },
            action: 'createAgent',
            target: AGENT_EXAMPLE.agent_id,
            request_id: '01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
          },
        ],
        has_more: false,
      },
    }),
    errors: [],
  },
} as const satisfies Record<string, Route>;
