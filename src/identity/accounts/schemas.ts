import { z } from 'zod';
import { ROLES } from '../../kernel/access.js';
import { E164_PATTERN } from '../../kernel/phone-number.js';
import { agentId, text } from '../../platform/http/contract/fields.js';
import { label, listOf, time, timestamp, paging } from '../../platform/http/contract/list.js';

export const Account = z
  .object({
    account_id: z.string().describe('Identifier of the account.'),
    name: z.string().describe('Name of the account.'),
    plan: z.enum(['trial', 'standard', 'growth', 'scale']).describe('Plan that determines the limits of the account.'),
    mode: z.enum(['live', 'test']).describe('Mode of the limits below.'),
    inbound_agent_id: z.string().optional().describe('Agent for inbound calls to numbers without their own agent.'),
    requests_per_minute: z.int().describe('Requests per minute of each API key.'),
    concurrent_calls: z.int().describe('Maximum concurrent calls of the account.'),
    daily_spend_cap: z.number().optional().describe('USD.'),
    created_at: timestamp('When it was created.'),
  })
  .meta({ id: 'Account', description: 'Account that calls, agents and money belong to, with its limits in one mode.' });
export type Account = z.infer<typeof Account>;

export const AccountChangesBody = z
  .strictObject({
    name: label('name').optional().describe('New name of the account.'),
    inbound_agent_id: text('inbound_agent_id', 255)
      .nullable()
      .optional()
      .meta({ description: 'null removes the inbound agent.' }),
  })
  .meta({ id: 'AccountChanges', minProperties: 1 });

export const PhoneNumber = z
  .object({
    phone_number: z.string().describe('The number, in E.164 format.'),
    agent_id: z
      .string()
      .optional()
      .describe('Agent for calls to this number, instead of the inbound agent of the account.'),
    active_agent_id: z
      .string()
      .optional()
      .describe('Agent that currently answers calls to this number: its own or the inbound agent of the account.'),
    created_at: timestamp('When it was added to the account.'),
  })
  .meta({ id: 'PhoneNumber' });
export type PhoneNumber = z.infer<typeof PhoneNumber>;
export const PhoneNumberList = listOf(PhoneNumber, 'PhoneNumberList');

export const NewPhoneNumberBody = z
  .strictObject({
    phone_number: z
      .string({
        error: (issue) => (issue.input === undefined ? 'phone_number is required.' : 'phone_number must be a string.'),
      })
      .regex(E164_PATTERN, 'phone_number must be in E.164 format, like +12025550123.')
      .meta({ description: 'Number to add, in E.164 format.', examples: ['+12025550142'] }),
    agent_id: agentId.optional(),
  })
  .meta({ id: 'NewPhoneNumber' });

export const PhoneNumberChangesBody = z
  .strictObject({
    agent_id: agentId.nullable().optional().meta({ description: 'null assigns the inbound agent of the account.' }),
  })
  .meta({ id: 'PhoneNumberChanges', minProperties: 1 });

export const ApiKey = z
  .object({
    key_id: z.string().describe('Identifier of the key. It is not the key itself.'),
    name: z.string().describe('Descriptive name of the key.'),
    mode: z.enum(['live', 'test']).describe('Mode of the key. Test calls reach no phone and cost no real money.'),
    prefix: z.string().describe('First characters of the key.'),
    last_four: z.string().describe('Last characters of the key.'),
    state: z.enum(['active', 'revoked', 'expired']).describe('State of the key; only active keys are valid.'),
    created_at: timestamp('When it was created.'),
    made_by: z
      .string()
      .optional()
      .describe('user_id of the member or key_id of the key that created it; absent if unknown.'),
    expires_at: timestamp('When it expires.').optional(),
    revoked_at: timestamp('When it was revoked.').optional(),
    last_used_at: timestamp('When it was last used, to the minute.').optional(),
  })
  .meta({ id: 'ApiKey' });
export type ApiKey = z.infer<typeof ApiKey>;
export const ApiKeyList = listOf(ApiKey, 'ApiKeyList');
export const NewApiKey = z
  .object({ ...ApiKey.shape, secret: z.string().describe('The key itself. It is shown only once.') })
  .meta({ id: 'CreatedApiKey' });

export const NewApiKeyBody = z
  .strictObject({
    name: label('name').meta({ description: 'Descriptive name of the key.', examples: ['backend'] }),
    expires_at: time('expires_at')
      .optional()
      .describe('When the key expires. By default it does not expire, or expires with the key that creates it.'),
  })
  .meta({ id: 'NewApiKey' });
export const ApiKeyChangesBody = z
  .strictObject({
    name: label('name').optional().describe('New name of the key.'),
    expires_at: time('expires_at')
      .nullable()
      .optional()
      .describe('When the key expires; null if it does not. Keys that it has created expire no later.'),
  })
  .meta({ id: 'ApiKeyChanges', minProperties: 1, description: 'expires_at null: the key does not expire.' });

export const AuditEntry = z
  .object({
    id: z.string().describe('Identifier of the entry.'),
    at: timestamp('When the change was made.'),
    mode: z
      .enum(['live', 'test'])
      .describe('`test` if only test mode was changed. Changes that affect both modes are live.'),
    actor: z
      .object({
        kind: z
          .enum(['key', 'member', 'service'])
          .describe('Kind of actor: an API key, a member, or the service itself.'),
        id: z.string().describe('Identifier of the key or the member.'),
        name: z
          .string()
          .describe(
            'Name of the key, or e-mail address of the member, at that time; "expired sign-up" for one that was deleted.',
          ),
      })
      .describe('The key, the member or the service that made the change.'),
    action: z.string().describe('Operation id, such as createAgent.'),
    target: z.string().optional().describe('The object that was changed.'),
    request_id: z.string().describe('Identifier of the request that made the change, as in its X-Request-Id header.'),
    unconfirmed: z
      .literal(true)
      .optional()
      .describe(
        'Present if the request failed after the change had begun, so the change may or may not have been made.',
      ),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;
export const AuditLogPage = listOf(AuditEntry, 'AuditLog');
export const AuditQuery = z.object(paging());

export const role = z
  .enum(ROLES, `role must be one of ${ROLES.join(', ')}.`)
  .describe(
    'Permissions in the account: owner has full access; developer everything except members, API keys and account settings; viewer is read-only.',
  );

export const ACCOUNT_EXAMPLE: Account = {
  account_id: 'acct_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  name: 'Acme',
  plan: 'standard',
  mode: 'live',
  inbound_agent_id: 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  requests_per_minute: 300,
  concurrent_calls: 10,
  created_at: '2026-11-21T10:00:00.000Z',
};
export const NUMBER_EXAMPLE: PhoneNumber = {
  phone_number: '+12025550142',
  agent_id: 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  active_agent_id: 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  created_at: '2026-11-21T10:00:00.000Z',
};
export const KEY_EXAMPLE: ApiKey = {
  key_id: 'key_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  name: 'backend',
  mode: 'live',
  prefix: 'sk_live_4fG7',
  last_four: 'x9Qa',
  state: 'active',
  created_at: '2026-11-21T10:00:00.000Z',
};
