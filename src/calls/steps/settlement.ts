import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import { windowRequest } from '../../kernel/hold-windows.js';
import { ledgerAccountId } from '../../kernel/ids.js';
import { rateOf } from '../../kernel/money.js';
import { summaryOfUnspoken } from '../../kernel/unspoken-summary.js';
import type { FirstHold } from '../../billing/ledger/ledger.js';
import type { CallFacts } from '../call-facts.js';
import type { CallRequests } from '../call-requests.js';
import type { ConversationResults } from '../../voice/results/conversation-results.js';
import type { Leases } from '../../billing/leases.js';
import type { Ledger } from '../../billing/ledger/ledger.js';
import type { CallProjection, ProjectedChange } from '../projection.js';
import type { Recordings } from '../../voice/recordings/recordings.js';
import { LONGEST_DIAL_WAIT_MS } from '../../telephony/pacing/dial-queue.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { CallOfAccount } from './call-of-account.js';
import { collectedFields } from './conversation-fields.js';
import type { DroppedWords } from './dropped-words.js';

interface Deps {
  dialGate: DialGate;
  requests: CallRequests;
  ledger: Ledger;
  leases: Leases;
  projection: CallProjection;
  results: ConversationResults;
  recordings: Recordings;
  bindings: CarrierBindings;
  droppedWords: DroppedWords;
}

/** A call canceled this soon after the carrier accepted it, or after its time in the carrier's queue, has hardly rung. */
const HARDLY_RUNG_MS = 3_000;

/** Bills calls, and writes their course to the read model. */
export function createCallSettlement(deps: Deps) {
  const { dialGate, requests, ledger, leases, projection, results, recordings, bindings, droppedWords } = deps;
  return {
    /** Writes a change of the call to the read model. */
    async projectCall(change: ProjectedChange): Promise<void> {
      await projection.apply(change);
      if (change.startTime !== undefined) await dialGate.markAnswered(change.callId);
    },

    /**
     * Bills the call, releases its concurrency slot and writes its final status, with the conversation's result if
     * stored.
     * @returns the billed seconds: the billable ones, capped by the holds
     */
    async settleCall(
      input: CallOfAccount & {
        billableSeconds: number;
        estimated: boolean;
        conversation: 'none' | 'stored' | 'awaited';
        /** True if the request to dial provably never reached the carrier. */
        notDialed?: boolean;
        /** See `CallInput`. */
        ledgerEpoch?: number;
        /** Seconds that the call holds as far as its workflow knows. */
        heldSeconds?: number;
        windows?: readonly number[];
        change: ProjectedChange;
      },
    ): Promise<{ billedSeconds: number }> {
      const { callId, accountId, mode, billableSeconds, estimated, conversation, change } = input;
      const facts = await requests.facts(callId);
      const settled = await ledger.settle({
        ledgerAccountId: ledgerAccountId(accountId, mode),
        callId,
        billedSeconds: billableSeconds,
        estimated,
        knownEpoch: input.ledgerEpoch,
        firstHold: facts && findFirstHold(input, facts),
      });
      await leases.release({ accountId, mode, callId });
      const bill = { durationSeconds: settled.billedSeconds, costMicros: settled.billedMicros };
      const end = { facts, isComplete: conversation !== 'awaited' && facts?.webhookUrl !== undefined };
      const storage = facts?.storage;
      if (conversation === 'stored') {
        const result = await results.find(callId);
        const fields = await collectedFields(recordings, { callId, storage }, result);
        await projection.apply(change, { ...bill, ...fields }, end);
        await droppedWords.drop({ callId, ledgerAccountId: ledgerAccountId(accountId, mode), storage }, result);
      } else {
        const summary = summaryOfUnspoken(change.status, change.endReason);
        await projection.apply(change, { ...bill, ...(conversation === 'none' ? { summary } : {}) }, end);
        if (conversation === 'awaited') {
          await droppedWords.dropLater({ callId, ledgerAccountId: ledgerAccountId(accountId, mode), storage });
        }
      }
      if (change.endReason === 'media_failed' && settled.billedMicros === 0) {
        await dialGate.countWaived({ accountId, mode, callId });
      }
      await requests.dropTools(callId);
      if (change.startTime !== undefined) await dialGate.markAnswered(callId);
      else if (input.notDialed === true) await dialGate.markNotDialed(callId);
      else if (await hasHardlyRung(bindings, change)) await dialGate.markHardlyRung(callId);
      return { billedSeconds: settled.billedSeconds };
    },
  };
}

/** Returns the first window of a call that holds nothing else as far as its workflow knows. */
function findFirstHold(
  { heldSeconds, windows }: { heldSeconds?: number; windows?: readonly number[] },
  facts: CallFacts,
): FirstHold | undefined {
  const { maxDurationSeconds } = facts;
  const microsPerSecond = rateOf(facts);
  const first = windowRequest(0, { heldSeconds: 0, maxDurationSeconds, microsPerSecond, windows });
  return heldSeconds === first.seconds ? { amountMicros: first.micros, microsPerSecond, last: first.last } : undefined;
}

/** Whether the account canceled its call before the phone can have rung for long. */
async function hasHardlyRung(
  bindings: CarrierBindings,
  { callId, status, endReason, endTime }: ProjectedChange,
): Promise<boolean> {
  if (status !== 'CANCELLED' || endReason !== 'api_hangup' || endTime === undefined) return false;
  const binding = await bindings.find(callId);
  if (binding === null || binding.closed === true) return false;
  const queuedMs = Math.min(binding.queuedMs ?? 0, LONGEST_DIAL_WAIT_MS);
  return endTime - binding.boundAt.getTime() - queuedMs <= HARDLY_RUNG_MS;
}
