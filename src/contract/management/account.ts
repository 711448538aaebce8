import { z } from 'zod';
import { ROLES } from '../../domain/access.js';
import { E164_PATTERN } from '../../domain/phone-number.js';
import { agentId, text } from '../fields.js';
import { paging } from '../statements.js';
import { label, listOf, time, timestamp } from './list.js';

export const Account = z
  .object({
    account_id: z.string(),
    name: z.string(),
    plan: z.enum(['trial', 'standard', 'growth', 'scale']),
    mode: z.enum(['live', 'test']).describe('The mode that the limits below are of.'),
    inbound_agent_id: z.string().optional().describe('Takes calls to numbers that name no agent of their own.'),
    requests_per_minute: z.int(),
    concurrent_calls: z.int(),
    daily_spend_cap: z.number().optional().describe('USD.'),
    created_at: timestamp('When it was made.'),
  })
  .meta({ id: 'Account' });
export type Account = z.infer<typeof Account>;

export const AccountChangesBody = z
  .strictObject({
    name: label('name').optional(),
    inbound_agent_id: text('inbound_agent_id', 255).nullable().optional().meta({ description: 'null: none.' }),
  })
  .meta({ id: 'AccountChanges', minProperties: 1 });

export const PhoneNumber = z
  .object({
    phone_number: z.string(),
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
      .meta({ examples: ['+12025550142'] }),
    agent_id: agentId.optional(),
  })
  .meta({ id: 'NewPhoneNumber' });

export const PhoneNumberChangesBody = z
  .strictObject({ agent_id: agentId.nullable().optional().meta({ description: 'null: the account’s inbound agent.' }) })
  .meta({ id: 'PhoneNumberChanges', minProperties: 1 });

export const ApiKey = z
  .object({
    key_id: z.string(),
    name: z.string(),
    mode: z.enum(['live', 'test']),
    prefix: z.string().describe('How the key begins.'),
    last_four: z.string().describe('How it ends.'),
    state: z.enum(['active', 'revoked', 'expired']),
    created_at: timestamp('When it was made.'),
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
  .strictObject({ name: label('name').meta({ examples: ['backend'] }), expires_at: time('expires_at').optional() })
  .meta({ id: 'NewApiKey' });
export const ApiKeyChangesBody = z
  .strictObject({ name: label('name').optional(), expires_at: time('expires_at').nullable().optional() })
  .meta({ id: 'ApiKeyChanges', minProperties: 1, description: 'expires_at null: it does not expire.' });

export const AuditEntry = z
  .object({
    id: z.string(),
    at: timestamp('When it was done.'),
    actor: z.object({
      kind: z.enum(['key', 'member', 'service']),
      id: z.string(),
      name: z.string().describe('Name of the key, or e-mail address of the member, at that time.'),
    }),
    action: z.string().describe('Operation id, such as createAgent.'),
    target: z.string().optional().describe('What it was done to.'),
    request_id: z.string(),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;
export const AuditLog = listOf(AuditEntry, 'AuditLog');
export const AuditQuery = z.object(paging());

export const role = z.enum(ROLES, `role must be one of ${ROLES.join(', ')}.`);

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
