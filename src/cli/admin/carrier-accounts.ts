import { createAccounts } from '../../identity/accounts/accounts.js';
import { createAuditLog } from '../../identity/access/audit-log.js';
import { OPERATOR } from '../../calls/erasure/remove-call.js';
import { accountsOfMode } from '../../telephony/accounts/account-of-call.js';
import type { Output } from '../output.js';
import { CliError } from '../run.js';
import type { AdminConnection } from './connect.js';
import { accountRow } from './views.js';

const COLUMNS = {
  name: 'Account',
  account_sid: 'Id at the carrier',
  from_number: 'From',
  calls_per_second: 'Calls/s',
  pools: 'Pools',
};

/** Lists the accounts of live calls in the configuration of this process. */
export async function listCarrierAccounts({ config }: AdminConnection, out: Output) {
  const { carriers } = config;
  const rows = accountsOfMode(carriers, 'live').map((account) => ({
    name: account.name,
    account_sid: account.carrierAccountId,
    from_number: account.fromNumber,
    calls_per_second: account.callsPerSecond ?? 'unlimited',
    pools: carriers.pools
      .filter(({ accounts }) => accounts.includes(account.name))
      .map(({ name, prefixes }) => [name, ...prefixes.map((prefix) => `+${prefix}`)].join(' '))
      .join(', '),
  }));
  await out.table(rows, COLUMNS);
}

/** Assigns a customer to a pool, and enters it into the customer's audit log. @param pool null: none */
export async function setCarrierPool(on: AdminConnection, out: Output, accountId: string, pool: string | null) {
  if (pool !== null) assertPool(on, pool);
  const account = await createAccounts(on.database).setCarrierPool(accountId, pool);
  await recordChange(on, { accountId, action: 'setCarrierPool', ...(pool === null ? {} : { target: pool }) });
  const text = pool === null ? 'Carrier pool removed; the called number decides.' : 'Carrier pool set.';
  await out.record(`${text} Calls in progress are not affected.`, accountRow(account));
}

/** @throws CliError unless an account of live calls has this name */
export function assertAccount({ config }: AdminConnection, name: string): void {
  assertKnown(
    'account',
    name,
    accountsOfMode(config.carriers, 'live').map((account) => account.name),
  );
}

function assertPool({ config }: AdminConnection, name: string): void {
  assertKnown(
    'pool',
    name,
    config.carriers.pools.map((pool) => pool.name),
  );
}

function assertKnown(kind: 'account' | 'pool', name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  throw new CliError(
    `There is no carrier ${kind} ${name}. CARRIER_ACCOUNTS_FILE of this command has: ${known.join(', ')}.`,
  );
}

/** Enters a change by an operator into the audit log of an account. */
export async function recordChange(
  { database }: AdminConnection,
  change: { accountId: string; action: string; target?: string },
): Promise<void> {
  await createAuditLog(database).add({ ...change, mode: 'live', ...OPERATOR });
}
