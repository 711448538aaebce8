import { ulid } from 'ulid';
import type { CallsDatabase } from '../database.js';
import type { Findings } from './findings.js';
import { validateReason } from '../../billing/ledger/operations.js';
import type { Ledger } from '../../billing/ledger/ledger.js';
import type { AccountFreezeDocument } from './account-freeze-model.js';

interface FreezeOrder {
  ledgerAccountId: string;
  /** Free text of 1 to 300 characters. */
  reason: string;
  by: string;
}

export type AccountFreezes = ReturnType<typeof createAccountFreezes>;

/**
 * Freezes accounts for operators. The reconciler also freezes an account while one of its findings is open. The ledger
 * stores one freeze per account, and lifts it when neither an operator's freeze nor a freezing finding remains.
 */
export function createAccountFreezes(deps: { database: CallsDatabase; findings: Findings; ledger: Ledger }) {
  const { database, findings, ledger } = deps;
  const freezes = database.accountFreezes;

  async function storeAction(action: AccountFreezeDocument['action'], order: FreezeOrder): Promise<void> {
    await freezes.create({ _id: ulid(), ...order, action, reason: validateReason(order.reason), at: new Date() });
  }

  async function findOperatorFreeze(ledgerAccountId: string): Promise<AccountFreezeDocument | undefined> {
    const found = await freezes.findOne({ ledgerAccountId }).sort({ _id: -1 }).lean<AccountFreezeDocument>().exec();
    return found?.action === 'freeze' ? found : undefined;
  }

  const isFreezeNeeded = async (ledgerAccountId: string) =>
    (await findings.hasFreezing(ledgerAccountId)) || (await findOperatorFreeze(ledgerAccountId)) !== undefined;

  return {
    /**
     * Rejects the account's new calls until an operator unfreezes it. A repeat with the same reason changes nothing.
     */
    async freeze(order: FreezeOrder): Promise<void> {
      const reason = validateReason(order.reason);
      const present = await findOperatorFreeze(order.ledgerAccountId);
      if (present?.reason !== reason) await storeAction('freeze', order);
      await ledger.freeze(order.ledgerAccountId, reason);
    },

    /** Ends an operator's freeze. @returns whether the account can place calls again; false: findings are open */
    async unfreeze(order: FreezeOrder): Promise<boolean> {
      validateReason(order.reason);
      if (await findOperatorFreeze(order.ledgerAccountId)) await storeAction('unfreeze', order);
      return this.lift(order.ledgerAccountId);
    },

    /** Lifts the ledger's freeze unless it is still needed. @returns whether the account can place calls again */
    async lift(ledgerAccountId: string): Promise<boolean> {
      if (await isFreezeNeeded(ledgerAccountId)) return false;
      await ledger.unfreeze(ledgerAccountId);
      // A freeze requested between the check and the lift saw the ledger frozen and changed nothing, so check again.
      if (!(await isFreezeNeeded(ledgerAccountId))) return true;
      await ledger.freeze(ledgerAccountId, 'requested while an earlier freeze was being lifted');
      return false;
    },

    /** Returns the operator's freeze that applies; undefined if there is none. */
    findOperatorFreeze,
  };
}
