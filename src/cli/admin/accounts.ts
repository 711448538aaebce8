import { createInboundAgents } from '../../agents/inbound-agent.js';
import type { DestinationCap } from '../../kernel/destinations/destinations.js';
import { accountNotFound } from '../../kernel/common-errors.js';
import type { Micros } from '../../kernel/money.js';
import type { Plan } from '../../identity/accounts/model.js';
import { createAccounts } from '../../identity/accounts/accounts.js';
import type { AdminConnection } from './connect.js';
import type { Output } from '../output.js';
import { accountRow, freezeLine } from './views.js';
import { freezeView } from './freezes.js';

const COLUMNS = {
  account_id: 'Account',
  name: 'Name',
  plan: 'Plan',
  requests_per_minute: 'Requests/min',
  concurrent_calls: 'Calls',
  inbound_agent_id: 'Inbound agent',
  created_at: 'Created',
};

export async function createAccount(
  { database }: AdminConnection,
  out: Output,
  name: string,
  options: { plan?: Plan },
) {
  const account = await createAccounts(database).create({ name, ...options });
  await out.record('Account created. Its test balance is 1,000 USD, its live balance 0 USD.', accountRow(account));
}

export async function listAccounts({ database }: AdminConnection, out: Output) {
  await out.table((await createAccounts(database).list()).map(accountRow), COLUMNS);
}

export async function showAccount({ database }: AdminConnection, out: Output, accountId: string) {
  const account = await createAccounts(database).find(accountId);
  if (!account) throw accountNotFound(accountId);
  const { frozen } = await freezeView({ database }, account._id);
  await out.record('', {
    ...accountRow(account),
    ...(frozen.length === 0 ? {} : { frozen: out.json ? frozen : frozen.map(freezeLine).join('\n') }),
  });
}

/**
 * Options of `accounts limits`, with commander's attribute names. With `default` or `all`, the account no longer has a
 * separate limit. With `none`, it has no limit at all.
 */
export interface LimitOptions {
  plan?: Plan;
  requestsPerMinute?: number | 'default';
  concurrentCalls?: number | 'default';
  dailySpendCap?: Micros | 'none' | 'default';
  unansweredAttempts?: number | 'none' | 'default';
  liveCallsPerDay?: number | 'none' | 'default';
  allowedCountryPrefixes?: string[] | 'all';
  destinationCaps?: DestinationCap[] | 'none';
}

export async function setLimits(on: AdminConnection, out: Output, accountId: string, options: LimitOptions) {
  if (Object.keys(options).length === 0) return showAccount(on, out, accountId);
  const standard = (value: unknown) => value === 'default' || value === 'all' || value === 'none';
  const { dailySpendCap, unansweredAttempts, liveCallsPerDay, ...others } = options;
  const liftable = {
    dailySpendCapMicros: dailySpendCap,
    unansweredAttemptsPerHour: unansweredAttempts,
    liveCallsPerDay,
  };
  const changes = Object.fromEntries([
    ...Object.entries(others).map(([name, value]) => [name, standard(value) ? null : value]),
    ...Object.entries(liftable).map(([name, value]) => [name, value === 'default' ? null : value]),
  ]);
  await out.record('Limits updated.', accountRow(await createAccounts(on.database).setLimits(accountId, changes)));
}

export async function setInboundAgent(
  { database }: AdminConnection,
  out: Output,
  accountId: string,
  agentId: string | null,
) {
  const account = await createInboundAgents(database).set(accountId, agentId);
  await out.record(agentId === null ? 'Inbound agent removed.' : 'Inbound agent set.', accountRow(account));
}
