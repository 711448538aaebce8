import { ulid } from 'ulid';
import { accountNotFound } from '../../kernel/common-errors.js';
import { ledgerAccountId, ownerOfLedgerAccount, type Mode } from '../../kernel/ids.js';
import { usdFromMicros, type Micros } from '../../kernel/money.js';
import { createAccounts } from '../../identity/accounts/accounts.js';
import { createLeases } from '../../billing/leases.js';
import { createLedger } from '../../billing/ledger/ledger.js';
import { creditPayment } from '../../billing/payments/payments.js';
import type { AccountDocument } from '../../identity/accounts/model.js';
import { refillTestBalance } from '../../identity/accounts/test-balance.js';
import type { AdminConnection } from './connect.js';
import { formatUsd, type Output } from '../output.js';
import { CliError } from '../run.js';
import { amounts } from './views.js';

const MODES: readonly Mode[] = ['live', 'test'];

export async function topUpAccount(
  { database }: AdminConnection,
  out: Output,
  accountId: string,
  amountMicros: Micros,
  options: { mode: Mode; paymentId?: string },
) {
  const account = await findAccount({ database }, accountId);
  const ledger = createLedger(database);
  const id = ledgerAccountId(account._id, options.mode);
  const paymentId = options.paymentId ?? `cli_${ulid()}`;
  // Uses the same row as payment webhooks, so that a payment is credited once, however it is reported.
  await creditPayment({ database, ledger }, { paymentId, accountId: account._id, mode: options.mode, amountMicros });
  const { availableMicros } = await ledger.balance(id);
  await out.record(
    `Credited ${formatUsd(amountMicros)} USD. Repeating the command with this payment id credits nothing more.`,
    {
      account_id: account._id,
      mode: options.mode,
      payment_id: paymentId,
      amount_usd: usdFromMicros(amountMicros),
      amount_micros: amountMicros,
      available_usd: usdFromMicros(availableMicros),
      available_micros: availableMicros,
    },
  );
}

/** Sets the test balance back to its opening amount. */
export async function refill({ database }: AdminConnection, out: Output, accountId: string) {
  const account = await findAccount({ database }, accountId);
  const ledger = createLedger(database);
  const creditedMicros = await refillTestBalance(ledger, account);
  const { availableMicros } = await ledger.balance(ledgerAccountId(account._id, 'test'));
  const sentence =
    creditedMicros === 0
      ? `The test balance is ${account.unverified ? '1' : '1,000'} USD or more; nothing was credited.`
      : `Credited ${formatUsd(creditedMicros)} USD to the test balance.`;
  await out.record(sentence, {
    account_id: account._id,
    mode: 'test',
    amount_usd: usdFromMicros(creditedMicros),
    amount_micros: creditedMicros,
    available_usd: usdFromMicros(availableMicros),
    available_micros: availableMicros,
  });
}

export async function showBalanceOf(on: AdminConnection, out: Output, accountId: string, options: { mode?: Mode }) {
  const account = await findAccount(on, accountId);
  const ledger = createLedger(on.database);
  const modes = MODES.filter((mode) => options.mode === undefined || mode === options.mode);
  const balances = await Promise.all(modes.map((mode) => ledger.balance(ledgerAccountId(account._id, mode))));
  await out.table(
    balances.map((balance, i) => ({ account_id: account._id, mode: modes[i], ...amounts(balance) })),
    { mode: 'Mode', available: 'Available USD', held: 'Held USD', credited: 'Credited USD', billed: 'Billed USD' },
    balances.map((balance, i) => ({
      mode: modes[i],
      available: formatUsd(balance.availableMicros),
      held: formatUsd(balance.heldMicros),
      credited: formatUsd(balance.creditedMicros),
      billed: formatUsd(balance.billedMicros),
    })),
  );
}

/**
 * Compares every ledger account, or those of one customer, with the sum of its operations. Also compares the account's
 * counter of concurrency slots with the slots in use.
 * @throws CliError when they differ
 */
export async function auditLedger(on: AdminConnection, out: Output, accountId: string | undefined) {
  const owner = accountId === undefined ? undefined : (await findAccount(on, accountId))._id;
  const ledger = createLedger(on.database);
  const rows = [];
  const leases = createLeases(on.database);
  for (const id of await ledger.accounts(owner)) {
    const places = await leases.slotsOf(ownerOfLedgerAccount(id));
    const { balanced, operationCount, account, operations } = await ledger.audit(id);
    rows.push({
      ledger_account_id: id,
      balanced,
      operations: operationCount,
      equation: equationOf(account),
      ...amounts(account),
      summed: amounts(operations),
      places: { counted: places?.count ?? 0, taken: places?.taken.length ?? 0 },
    });
  }
  await out.table(
    rows,
    {
      ledger_account_id: 'Ledger account',
      operations: 'Operations',
      equation: 'credited - billed = available + held (USD)',
      balanced: 'Balanced',
      places: 'Slots counted / taken',
    },
    rows.map((row) => ({ ...row, places: `${row.places.counted} / ${row.places.taken}` })),
  );
  const miscounted = rows.filter(({ places }) => places.counted !== places.taken).length;
  const wrong = rows.filter(({ balanced }) => !balanced).length;
  if (wrong > 0) throw new CliError(`${wrong} of ${rows.length} ledger accounts do not match their operations.`);
  if (miscounted > 0) throw new CliError(`${miscounted} of ${rows.length} slot counters do not match the taken slots.`);
}

function equationOf(a: { creditedMicros: Micros; billedMicros: Micros; availableMicros: Micros; heldMicros: Micros }) {
  const [credited, billed] = [formatUsd(a.creditedMicros), formatUsd(a.billedMicros)];
  return `${credited} - ${billed} = ${formatUsd(a.availableMicros)} + ${formatUsd(a.heldMicros)}`;
}

/** @throws ServiceError NOT_FOUND when the account does not exist */
export async function findAccount(
  { database }: Pick<AdminConnection, 'database'>,
  accountId: string,
): Promise<AccountDocument> {
  const account = await createAccounts(database).find(accountId);
  if (!account) throw accountNotFound(accountId);
  return account;
}
