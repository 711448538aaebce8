import { ledgerAccountId, type Mode } from '../../kernel/ids.js';
import type { AuditEntryDocument } from '../../identity/access/audit-entry-model.js';
import type { Ledger } from '../../billing/ledger/ledger.js';
import type { CallsDatabase } from '../database.js';
import type { CallGateway } from '../gateway.js';
import { findReconciled } from '../reconciliation/reconciled.js';
import type { ClosedWorkflows } from './closed-workflows.js';

/** How the audit log names the operator of the service. */
export const OPERATOR = {
  actorKind: 'service',
  actorId: 'operator',
  actorName: 'operator of the service',
  requestId: 'callwright-admin',
} as const satisfies Partial<AuditEntryDocument>;

/** A media process writes for at most two minutes after the end of a call. */
const LAST_WRITES_MS = 10 * 60_000;
const CALLS_AT_ONCE = 100;

export type CallRemoval = ReturnType<typeof createCallRemoval>;

/** Erases ended calls for an operator, and removes their workflows from Temporal. Both can be repeated. */
export function createCallRemoval(deps: {
  database: CallsDatabase;
  eraseCall: (call: { callId: string }) => Promise<void>;
  gateway: Pick<CallGateway, 'erase'>;
  workflows: ClosedWorkflows;
  ledger: Ledger;
}) {
  const { database, workflows, ledger } = deps;

  type Owner = { _id: string; accountId?: string; mode: Mode };
  /** The calls whose money is right without their workflow. */
  async function readReconciled(callIds: readonly string[]): Promise<Set<string>> {
    const owners = await database.calls
      .find({ _id: { $in: [...callIds] }, accountId: { $exists: true } }, { accountId: 1, mode: 1 })
      .lean<Required<Owner>[]>();
    const calls = owners.map(({ _id, accountId, mode }) => ({
      callId: _id,
      ledgerAccountId: ledgerAccountId(accountId, mode),
    }));
    for (const id of new Set(calls.map((call) => call.ledgerAccountId))) await ledger.sweep(id);
    return findReconciled(database, calls);
  }

  return {
    /** Erases the personal data of an ended call, again if it was erased before. */
    async erase(callId: string): Promise<void> {
      const call = await database.calls.findById(callId, { updatedAt: 1 }).lean<{ updatedAt?: Date }>();
      const isRecent = call?.updatedAt !== undefined && Date.now() - call.updatedAt.getTime() < LAST_WRITES_MS;
      // Its workflow erases the call once more when no write to it can be in progress any more.
      if (isRecent) await deps.gateway.erase(callId);
      await deps.eraseCall({ callId });
    },

    /** Deletes the workflows of calls that are reconciled. Those of other calls, and those that still run, are left. */
    async removeWorkflows(callIds: readonly string[]): Promise<{ deleted: number; left: number }> {
      const sum = { deleted: 0, left: 0 };
      for (let at = 0; at < callIds.length; at += CALLS_AT_ONCE) {
        const batch = callIds.slice(at, at + CALLS_AT_ONCE);
        const reconciled = await readReconciled(batch);
        for (const callId of batch) {
          const delivery = await database.webhookDeliveries
            .findById(callId, { redeliveries: 1 })
            .lean<{ redeliveries?: number }>();
          const call = { callId, redeliveries: delivery?.redeliveries ?? 0 };
          if (!reconciled.has(callId)) {
            sum.left += await workflows.countOf(call);
            continue;
          }
          const removed = await workflows.removeOf(call);
          sum.deleted += removed.deleted;
          sum.left += removed.running;
        }
      }
      return sum;
    },
  };
}
