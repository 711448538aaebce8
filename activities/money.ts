import type { DialGate } from '../src/telephony/destinations/dial-gate.js';
import { ledgerAccountId, type Mode } from '../src/kernel/ids.js';
import { summaryOfUnspoken } from '../src/kernel/unspoken-summary.js';
import type { CallRequests } from '../src/calls/call-requests.js';
import type { ConversationResults } from '../src/voice/results/conversation-results.js';
import type { Leases } from '../src/billing/leases.js';
import type { Ledger } from '../src/billing/ledger/ledger.js';
import type { CallProjection, ProjectedChange } from '../src/calls/projection.js';
import type { Recordings } from '../src/voice/recordings/recordings.js';
import type { CarrierBindings } from '../src/telephony/carrier-bindings.js';
import { collectedFields } from './conversation.js';

interface Deps {
  dialGate: DialGate;
  requests: CallRequests;
  ledger: Ledger;
  leases: Leases;
  projection: CallProjection;
  results: ConversationResults;
  recordings: Recordings;
  bindings: CarrierBindings;
}

/** A phone whose call is cancelled this soon after the carrier took it has hardly rung. */
const HARDLY_RUNG_MS = 3_000;

export interface CallOfAccount {
  callId: string;
  accountId: string;
  mode: Mode;
}

/** Steps that move money or places after the reservation, each together with the read model's write that tells of it. */
export function createMoneyActivities(deps: Deps) {
  const { dialGate, requests, ledger, leases, projection, results, recordings, bindings } = deps;
  return {
    /** Writes a change of the call that people should see. */
    async projectCall(change: ProjectedChange): Promise<void> {
      await projection.apply(change);
      if (change.startTime !== undefined) await dialGate.answered(change.callId);
    },

    /**
     * Bills the call, frees its place and writes its final status, with the conversation's result where it is stored.
     * @returns the seconds billed: those asked for, capped at what is held
     */
    async settleCall(
      input: CallOfAccount & {
        billableSeconds: number;
        estimated: boolean;
        conversation: 'none' | 'stored' | 'awaited';
        /** The carrier provably never had the call. */
        notDialed?: boolean;
        change: ProjectedChange;
      },
    ): Promise<{ billedSeconds: number }> {
      const { callId, accountId, mode, billableSeconds, estimated, conversation, change } = input;
      const settled = await ledger.settle({
        ledgerAccountId: ledgerAccountId(accountId, mode),
        callId,
        billedSeconds: billableSeconds,
        estimated,
      });
      await leases.release({ accountId, mode, callId });
      const bill = { durationSeconds: settled.billedSeconds, costMicros: settled.billedMicros };
      if (conversation === 'stored') {
        const result = await results.find(callId);
        await projection.apply(change, { ...bill, ...(await collectedFields(recordings, callId, result)) });
      } else {
        const summary = summaryOfUnspoken(change.status, change.endReason);
        await projection.apply(change, { ...bill, ...(conversation === 'none' ? { summary } : {}) });
      }
      if (change.endReason === 'media_failed' && settled.billedMicros === 0) {
        await dialGate.countWaived({ accountId, mode, callId });
      }
      await requests.dropTools(callId);
      if (change.startTime !== undefined) await dialGate.answered(callId);
      else if (input.notDialed === true) await dialGate.notDialed(callId);
      else if (await hasHardlyRung(bindings, change)) await dialGate.hardlyRang(callId);
      return { billedSeconds: settled.billedSeconds };
    },
  };
}

/** Whether an unanswered call's own account cancelled it at once. */
async function hasHardlyRung(
  bindings: CarrierBindings,
  { callId, status, endReason, endTime }: ProjectedChange,
): Promise<boolean> {
  if (status !== 'CANCELLED' || endReason !== 'api_hangup' || endTime === undefined) return false;
  const binding = await bindings.find(callId);
  if (binding === null || binding.closed === true) return false;
  return endTime - binding.boundAt.getTime() <= HARDLY_RUNG_MS;
}
