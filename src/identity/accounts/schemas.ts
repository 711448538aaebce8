import { z } from 'zod';
import { ROLES } from '../../kernel/access.js';
import { E164_PATTERN } from '../../kernel/phone-number.js';
import { agentId, text } from '../../platform/http/contract/fields.js';
import { label, listOf, time, timestamp, paging } from '../../platform/http/contract/list.js';

export const Account = z
  .object({
    account_id: z.string().describe('Identifier of the account.'),
    name: z.string().describe('Name of the account.'),
    plan: z.enum(['trial', 'standard', 'growth', 'scale']).describe('Plan that sets the limits of the account.'),
    mode: z.enum(['live', 'test']).describe('The mode that the limits below are of.'),
    inbound_agent_id: z.string().optional().describe('Takes calls to numbers that name no agent of their own.'),
    requests_per_minute: z.int().describe('Requests that each API key may make per minute.'),
    concurrent_calls: z.int().describe('Calls that the account may have in progress at the same time.'),
    daily_spend_cap: z.number().optional().describe('USD.'),
    created_at: timestamp('When it was made.'),
  })
  .meta({ id: 'Account', description: 'Account that calls, agents and money belong to, with its limits in one mode.' });
export type Account = z.infer<typeof Account>;

export const AccountChangesBody = z
  .strictObject({
    name: label('name').optional().describe('New name of the account.'),
    inbound_agent_id: text('inbound_agent_id', 255).nullable().optional().meta({ description: 'null: none.' }),
  })
  .meta({ id: 'AccountChanges', minProperties: 1 });

export const PhoneNumber = z
  .object({
    phone_number: z.string().describe('The number, in E.164 form.'),
    agent_id: z.string().optional().describe('Takes calls to this number in place of the account’s inbound agent.'),
    active_agent_id: z
      .string()
      .optional()
      .describe('Who takes calls to this number now: its own agent or the account’s.'),
    created_at: timestamp('When the account got it.'),
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
      .regex(E164_PATTERN, 'phone_number must be E.164, like +12025550123.')
      .meta({ description: 'Number to add, in E.164 form.', examples: ['+12025550142'] }),
    agent_id: agentId.optional(),
  })
  .meta({ id: 'NewPhoneNumber' });

export const PhoneNumberChangesBody = z
  .strictObject({ agent_id: agentId.nullable().optional().meta({ description: 'null: the account’s inbound agent.' }) })
  .meta({ id: 'PhoneNumberChanges', minProperties: 1 });

export const ApiKey = z
  .object({
    key_id: z.string().describe('Identifier of the key. It is not the key itself.'),
    name: z.string().describe('Descriptive name of the key.'),
    mode: z
      .enum(['live', 'test'])
      .describe('Mode that the key works in. Test calls reach no phone and cost no real money.'),
    prefix: z.string().describe('How the key begins.'),
    last_four: z.string().describe('How it ends.'),
    state: z.enum(['active', 'revoked', 'expired']).describe('Whether the key works; only an active one does.'),
    created_at: timestamp('When it was made.'),
    made_by: z
      .string()
      .optional()
      .describe('The user_id of the member who made it, or the key that made it; absent where that is not known.'),
    expires_at: timestamp('When it stops working.').optional(),
    revoked_at: timestamp('When it was revoked.').optional(),
    last_used_at: timestamp('When it was used last, to the minute.').optional(),
  })
  .meta({ id: 'ApiKey' });
export type ApiKey = z.infer<typeof ApiKey>;
export const ApiKeyList = listOf(ApiKey, 'ApiKeyList');
export const NewApiKey = z
  .object({ ...ApiKey.shape, secret: z.string().describe('The key itself. It is shown here and never again.') })
  .meta({ id: 'CreatedApiKey' });

export const NewApiKeyBody = z
  .strictObject({
    name: label('name').meta({ description: 'Descriptive name of the key.', examples: ['backend'] }),
    expires_at: time('expires_at')
      .optional()
      .describe(
        'Time at which the key stops working. Without it the key does not expire; one that a key makes expires with that.',
      ),
  })
  .meta({ id: 'NewApiKey' });
export const ApiKeyChangesBody = z
  .strictObject({
    name: label('name').optional().describe('New name of the key.'),
    expires_at: time('expires_at')
      .nullable()
      .optional()
      .describe(
        'Time at which the key stops working; null if it does not expire. Keys that it has made expire no later.',
      ),
  })
  .meta({ id: 'ApiKeyChanges', minProperties: 1, description: 'expires_at null: it does not expire.' });

export const AuditEntry = z
  .object({
    id: z.string().describe('Identifier of the entry.'),
    at: timestamp('When it was done.'),
    mode: z
      .enum(['live', 'test'])
      .describe('`test` when nothing but test mode was changed. Changes that reach both modes are live.'),
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
      .describe('Who made the change.'),
    action: z.string().describe('Operation id, such as createAgent.'),
    target: z.string().optional().describe('What it was done to.'),
    request_id: z.string().describe('Identifier of the request that made the change, as in its X-Request-Id header.'),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;
export const AuditLogPage = listOf(AuditEntry, 'AuditLog');
export const AuditQuery = z.object(paging());

export const role = z
  .enum(ROLES, `role must be one of ${ROLES.join(', ')}.`)
  .describe(
    'Permissions in the account: an owner may do everything, a developer everything except manage members, API keys and account settings, a viewer only reads.',
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
