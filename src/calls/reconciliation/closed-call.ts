import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { CarrierOfCall, PlacedCall } from '../../telephony/web/carrier.js';
import type { CarrierCall } from '../../telephony/port.js';
import type { RunState } from '../runs.js';
import { decideOutcome, decideOutcomeWithoutCarrier } from '../call-outcome.js';
import { isFinalStatus, newCall, type CallOutcome, type CallState, type CarrierEnd } from '../../kernel/call-state.js';
import { ownerOfLedgerAccount, type Mode } from '../../kernel/ids.js';
import { summaryOfUnspoken } from '../../kernel/unspoken-summary.js';
import type { CallRequests } from '../call-requests.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { ConversationResults } from '../../voice/results/conversation-results.js';
import type { Leases } from '../../billing/leases.js';
import type { Ledger } from '../../billing/ledger/ledger.js';
import type { CallDocument } from '../call-model.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { ConversationResultDocument } from '../../voice/results/model.js';
import type { CallProjection } from '../projection.js';
import type { Recordings } from '../../voice/recordings/recordings.js';
import { collectedFields, toMediaEnd } from '../steps/conversation-fields.js';
import type { DroppedWords } from '../steps/dropped-words.js';

export interface ClosedCallDeps {
  carrierOfCall: CarrierOfCall;
  dialGate: DialGate;
  bindings: CarrierBindings;
  requests: CallRequests;
  results: ConversationResults;
  ledger: Ledger;
  leases: Leases;
  projection: CallProjection;
  recordings: Recordings;
  droppedWords: DroppedWords;
}

/** Number of checks that must find no carrier record before the call counts as unknown. A record may appear late. */
export const NOT_FOUND_CHECKS_NEEDED = 3;

/** Stored records of a call whose workflow did not end it. */
interface Facts {
  request: CallRequestDocument | null;
  call: CallDocument | null;
  result: ConversationResultDocument | null;
  /** Whether we never told the carrier what to do with the call when it was answered. */
  isUninstructed: boolean;
}

/**
 * Ends a call whose workflow no longer can (an operator terminated it, or Temporal lost it), as the workflow would
 * have: settles it by the carrier's duration, releases its concurrency slot and writes its final status. A call still
 * in progress is hung up if its run is known to be closed or it is `overdue`, and ends in a later round.
 * @param p.notFoundChecks number of earlier checks in which the carrier had no record of the call
 * @returns whether the call has ended
 * @throws when the carrier or the ledger is unavailable
 */
export async function endClosedCall(
  deps: ClosedCallDeps,
  p: {
    callId: string;
    ledgerAccountId: string;
    run: Exclude<RunState, 'running'>;
    overdue: boolean;
    notFoundChecks: number;
  },
): Promise<boolean> {
  const { callId, ledgerAccountId } = p;
  const { accountId, mode } = ownerOfLedgerAccount(ledgerAccountId);
  const [request, call, result] = await Promise.all([
    deps.requests.find(callId),
    deps.projection.find(callId),
    deps.results.find(callId),
  ]);
  const { placed, isInstructed } = await findCarrierCall(deps, mode, callId, request);
  const carrierSid = placed?.carrierSid;
  const facts: Facts = {
    request,
    call: call?.accountId === undefined ? null : call,
    result,
    isUninstructed: isInstructed === false && result === null,
  };
  const record = placed && (await deps.carrierOfCall(placed).fetch(placed.carrierSid));
  if (placed !== undefined && record === undefined && p.notFoundChecks < NOT_FOUND_CHECKS_NEEDED) return false;
  if (placed !== undefined && record !== undefined && toCarrierEnd(record, 0) === undefined) {
    if (p.run === 'closed' || p.overdue) await deps.carrierOfCall(placed).hangUp(placed.carrierSid);
    return false;
  }
  const outcome = decideClosedOutcome(facts, record);
  const { billedSeconds, billedMicros } = await deps.ledger.settle({
    ledgerAccountId,
    callId,
    billedSeconds: outcome.billableSeconds,
    estimated: outcome.estimated,
  });
  await deps.leases.release({ accountId, mode, callId });
  if (outcome.status === 'COMPLETED' || billedSeconds > 0) await deps.dialGate.markAnswered(callId);
  await writeEnd(deps, { callId, facts, carrierSid, outcome, billedSeconds, billedMicros });
  if (result !== null)
    await deps.droppedWords.drop({ callId, ledgerAccountId, storage: request?.agent.storage }, result);
  // A call without a read model cannot be found and erased by its account, so its personal data is erased here.
  if (facts.call === null && billedMicros === 0) await deps.requests.erase(callId);
  else await deps.requests.dropTools(callId);
  return true;
}

/** Returns the carrier call bound to the call. From then on no other can be bound: one that appears late is hung up. */
async function findCarrierCall(
  { bindings, carrierOfCall }: ClosedCallDeps,
  mode: Mode,
  callId: string,
  request: CallRequestDocument | null,
): Promise<{ placed?: PlacedCall; isInstructed?: boolean | undefined }> {
  const { carrierSid: sid, carrierAccountId } = request ?? {};
  const carrier = sid === undefined ? undefined : carrierOfCall({ mode, carrierAccountId, carrierSid: sid });
  // The carrier cannot look up an id that is not in its format, so a call with such an id ends as if never placed.
  const row =
    sid !== undefined && carrier?.isCallId(sid)
      ? await bindings.bind(callId, sid, carrier)
      : await bindings.close(callId);
  if (row.closed) return {};
  const placed = { mode, carrierSid: row.carrierSid, carrierAccountId: row.carrierAccountId ?? carrierAccountId };
  return carrierOfCall(placed).isCallId(row.carrierSid) ? { placed, isInstructed: row.isInstructed } : {};
}

/**
 * Returns COMPLETED if the carrier's record, or else the stored result, proves that there was a conversation. Otherwise
 * returns FAILED with an internal error.
 */
function decideClosedOutcome(facts: Facts, record: CarrierCall | undefined): CallOutcome {
  const state = rebuildState(facts, record?.seenAt);
  const endedAt = record?.endedAt ?? state.mediaEnd?.at ?? facts.call?.updatedAt.getTime() ?? Date.now();
  const end = record && toCarrierEnd(record, endedAt);
  const outcome = end ? decideOutcome(state, end) : state.mediaEnd && decideOutcomeWithoutCarrier(state, endedAt);
  if (outcome?.status === 'COMPLETED') return outcome;
  return { status: 'FAILED', endReason: 'internal_error', endedAt, billableSeconds: 0, estimated: false };
}

/** Rebuilds the call's state from its records. Without another known reason, the end is an internal error. */
function rebuildState({ request, call, result, isUninstructed }: Facts, seenAt: number | undefined): CallState {
  const mediaEnd = result === null ? undefined : toMediaEnd(result, seenAt);
  const hasOwnEndReason =
    mediaEnd !== undefined && mediaEnd.reason !== 'carrier_stop' && mediaEnd.reason !== 'transferred';
  return {
    ...newCall(request?.direction ?? call?.direction ?? 'outbound'),
    ...(call?.startTime === undefined ? {} : { answeredAt: call.startTime.getTime() }),
    ...(result === null ? {} : { mediaStartedAt: result.startedAt.getTime() }),
    ...(mediaEnd === undefined ? {} : { mediaEnd }),
    ...(hasOwnEndReason ? {} : { hangUpCause: 'internal_error' }),
    ...(isUninstructed ? { isUninstructed: true } : {}),
  };
}

/** The end according to the carrier's record; undefined while the call is in progress. */
function toCarrierEnd({ status, durationSeconds }: CarrierCall, at: number): CarrierEnd | undefined {
  if (status === 'queued' || status === 'ringing' || status === 'in-progress') return undefined;
  return { status, at, ...(durationSeconds === undefined ? {} : { durationSeconds }) };
}

/** Writes the final status. Duration and cost come from the settlement, which the workflow may have made earlier. */
async function writeEnd(
  { projection, recordings }: ClosedCallDeps,
  p: {
    callId: string;
    facts: Facts;
    carrierSid: string | undefined;
    outcome: CallOutcome;
    billedSeconds: number;
    billedMicros: number;
  },
): Promise<void> {
  const { callId, outcome, billedSeconds, billedMicros } = p;
  const { request, call, result } = p.facts;
  if (call === null) {
    if (billedMicros === 0) await projection.writeTombstone(callId);
    return;
  }
  if (isFinalStatus(call.status)) return;
  const completed = outcome.status === 'COMPLETED' || billedSeconds > 0;
  const status = completed ? 'COMPLETED' : 'FAILED';
  const endReason = outcome.status === 'COMPLETED' ? outcome.endReason : 'internal_error';
  const { endedAt } = outcome;
  const startTime = call.startTime?.getTime() ?? (billedSeconds > 0 ? endedAt - billedSeconds * 1_000 : undefined);
  await projection.apply(
    {
      callId,
      sequence: call.sequence + 1,
      at: Date.now(),
      status,
      endReason,
      endTime: Math.max(endedAt, startTime ?? endedAt),
      ...(startTime === undefined ? {} : { startTime }),
      ...(p.carrierSid === undefined ? {} : { carrierSid: p.carrierSid }),
    },
    {
      durationSeconds: billedSeconds,
      costMicros: billedMicros,
      ...(result === null
        ? { summary: summaryOfUnspoken(status, endReason) }
        : await collectedFields(recordings, { callId, storage: request?.agent.storage }, result)),
    },
  );
}
