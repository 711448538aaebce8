import { ulid } from 'ulid';
import type { CallsDatabase } from '../database.js';
import type { Findings } from './findings.js';
import { checkedReason } from '../../billing/ledger/operations.js';
import type { Ledger } from '../../billing/ledger/ledger.js';
import type { AccountFreezeDocument } from './account-freeze-model.js';

interface Order {
  ledgerAccountId: string;
  /** Free text of 1 to 300 characters. */
  reason: string;
  by: string;
}

export type AccountFreezes = ReturnType<typeof createAccountFreezes>;

/**
 * Operators' freezes of accounts. The reconciler also freezes an account while one of its findings is open. The ledger
 * has one freeze per account, which is lifted when neither an operator's freeze nor a freezing finding remains.
 */
export function createAccountFreezes(deps: { database: CallsDatabase; findings: Findings; ledger: Ledger }) {
  const { database, findings, ledger } = deps;
  const freezes = database.accountFreezes;

  async function write(action: AccountFreezeDocument['action'], order: Order): Promise<void> {
    await freezes.create({ _id: ulid(), ...order, action, reason: checkedReason(order.reason), at: new Date() });
  }

  async function standing(ledgerAccountId: string): Promise<AccountFreezeDocument | undefined> {
    const found = await freezes.findOne({ ledgerAccountId }).sort({ _id: -1 }).lean<AccountFreezeDocument>().exec();
    return found?.action === 'freeze' ? found : undefined;
  }

  const wanted = async (ledgerAccountId: string) =>
    (await findings.areFreezing(ledgerAccountId)) || (await standing(ledgerAccountId)) !== undefined;

  return {
    /** Stops the account's new calls until an operator unfreezes it. A repeat with the same reason changes nothing. */
    async freeze(order: Order): Promise<void> {
      const reason = checkedReason(order.reason);
      const present = await standing(order.ledgerAccountId);
      if (present?.reason !== reason) await write('freeze', order);
      await ledger.freeze(order.ledgerAccountId, reason);
    },

    /** Ends an operator's freeze. @returns whether the account can place calls again; false: findings are open */
    async unfreeze(order: Order): Promise<boolean> {
      checkedReason(order.reason);
      if (await standing(order.ledgerAccountId)) await write('unfreeze', order);
      return this.lift(order.ledgerAccountId);
    },

    /** Lifts the ledger's freeze unless it is still needed. @returns whether the account can place calls again */
    async lift(ledgerAccountId: string): Promise<boolean> {
      if (await wanted(ledgerAccountId)) return false;
      await ledger.unfreeze(ledgerAccountId);
      // A freeze requested meanwhile may have found the ledger still frozen, and so not have frozen it again.
      if (!(await wanted(ledgerAccountId))) return true;
      await ledger.freeze(ledgerAccountId, 'asked for while an earlier freeze was lifted');
      return false;
    },

    /** The operator's freeze in force; undefined if there is none. */
    standing,
  };
}
