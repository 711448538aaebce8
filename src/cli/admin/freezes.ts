import { userInfo } from 'node:os';
import { ledgerAccountId, type Mode } from '../../kernel/ids.js';
import { createAccountFreezes } from '../../calls/reconciliation/account-freezes.js';
import { createFindings } from '../../calls/reconciliation/findings.js';
import { createLedger } from '../../billing/ledger/ledger.js';
import type { AdminConnection } from './connect.js';
import type { Output } from '../output.js';
import { CliError } from '../run.js';
import { freezeLine } from './views.js';
import { findAccount } from './money.js';

const MODES: readonly Mode[] = ['live', 'test'];

interface FreezeOptions {
  reason: string;
  mode?: Mode;
}

/** Rejects new calls of an account in one or both modes. Calls in progress continue and are billed. */
export async function freezeAccount(on: AdminConnection, out: Output, accountId: string, options: FreezeOptions) {
  const { freezes, ids } = await open(on, accountId, options.mode);
  for (const id of ids) await freezes.freeze({ ledgerAccountId: id, reason: options.reason, by: userInfo().username });
  await show(on, out, 'Account frozen: new calls are rejected. Calls in progress continue.', accountId);
}

/**
 * Ends an operator's freeze. If findings are open, the account stays frozen.
 * @throws CliError when the account stays frozen
 */
export async function unfreezeAccount(on: AdminConnection, out: Output, accountId: string, options: FreezeOptions) {
  const { freezes, ids } = await open(on, accountId, options.mode);
  const by = userInfo().username;
  const lifted: boolean[] = [];
  for (const id of ids) lifted.push(await freezes.unfreeze({ ledgerAccountId: id, reason: options.reason, by }));
  const free = lifted.every(Boolean);
  const sentence = free
    ? 'The account is not frozen: new calls are accepted.'
    : 'Open findings keep the account frozen.';
  await show(on, out, sentence, accountId);
  if (!free) throw new CliError('The account stays frozen: resolve its findings (`callwright admin findings list`).');
}

/** Lists the modes in which an account is frozen, each with the reason, the time and the operator. */
export async function freezeView({ database }: Pick<AdminConnection, 'database'>, accountId: string) {
  const ledger = createLedger(database);
  const freezes = createAccountFreezes({ database, findings: createFindings(database), ledger });
  const frozen = [];
  for (const mode of MODES) {
    const id = ledgerAccountId(accountId, mode);
    const freeze = await ledger.frozen(id);
    if (!freeze) continue;
    // The ledger stores only the first reason. Show the operator's reason, even if it came second.
    const operator = await freezes.findOperatorFreeze(id);
    const { reason, at, by } = operator ?? { ...freeze, by: 'reconciler' };
    frozen.push({ mode, reason, at: at.toISOString(), by });
  }
  return { account_id: accountId, frozen };
}

async function show(on: AdminConnection, out: Output, sentence: string, accountId: string): Promise<void> {
  const { frozen, ...account } = await freezeView(on, accountId);
  await out.record(sentence, { ...account, frozen: out.json ? frozen : frozen.map(freezeLine).join('\n') });
}

async function open(on: AdminConnection, accountId: string, mode: Mode | undefined) {
  const { database } = on;
  const account = await findAccount(on, accountId);
  return {
    freezes: createAccountFreezes({ database, findings: createFindings(database), ledger: createLedger(database) }),
    ids: MODES.filter((each) => mode === undefined || each === mode).map((each) => ledgerAccountId(account._id, each)),
  };
}
