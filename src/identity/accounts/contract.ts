import { Account, ACCOUNT_EXAMPLE, AccountChangesBody, AuditLogPage, AuditQuery } from './schemas.js';
import { defineRoute, ratedJsonResponse } from '../../platform/http/contract/route.js';

const json = 'application/json';
const accountResponse = ratedJsonResponse('The account.', Account, { account: ACCOUNT_EXAMPLE });

/** Routes by which an account reads and changes itself. */
export const accountRoutes = {
  readAccount: defineRoute({
    method: 'get',
    path: '/account',
    tag: 'Account',
    summary: 'Read the account',
    description: 'Returns the account with its limits in the mode of the request.',
    auth: 'keyOrSession',
    success: accountResponse,
    errors: [],
  }),
  updateAccount: defineRoute({
    method: 'patch',
    path: '/account',
    tag: 'Account',
    summary: 'Update the account',
    description: 'Changes the name or the inbound agent. Requires a live key or the role owner.',
    auth: 'keyOrSession',
    changes: 'account',
    roles: ['owner'],
    body: {
      contentType: json,
      schema: AccountChangesBody,
      examples: { inbound: { inbound_agent_id: ACCOUNT_EXAMPLE.inbound_agent_id } },
    },
    success: accountResponse,
    errors: ['AGENT_NOT_FOUND'],
  }),
};

/** Routes of the account's audit log. */
export const auditRoutes = {
  readAuditLog: defineRoute({
    method: 'get',
    path: '/audit_log',
    tag: 'Account',
    summary: 'List audit log entries',
    description: 'Requires an API key or the role owner or developer. A test key reads only changes of test mode.',
    auth: 'keyOrSession',
    load: 'list',
    roles: ['owner', 'developer'],
    query: AuditQuery,
    success: ratedJsonResponse('A page of changes.', AuditLogPage, {
      page: {
        data: [
          {
            id: 'audit_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
            at: '2026-11-21T10:00:00.000Z',
            mode: 'live',
            actor: { kind: 'member', id: 'user_01JD3Q4Z6WX8Y2V7T5R9S1K0MN', name: 'ada@example.com' },
            action: 'createAgent',
            target: ACCOUNT_EXAMPLE.inbound_agent_id,
            request_id: '01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
          },
        ],
        has_more: false,
      },
    }),
    errors: [],
  }),
};
