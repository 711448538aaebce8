import { createHash, createHmac } from 'node:crypto';
import { ulid } from 'ulid';
import type { CallResponse, OutboundCallRequest } from './contract.js';
import { ERRORS, errorObject, type ErrorObject } from '../../platform/http/contract/errors.js';
import { ServiceError } from '../../kernel/errors.js';
import type { ReservationAnswer } from '../../kernel/call-signals.js';
import type { IdempotencyKeys } from './idempotency-keys.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { IdempotencyKeyDocument } from './idempotency-key-model.js';
import type { Principal } from '../../identity/access/principal.js';
import { within } from '../../platform/http/deadline.js';
import { decideBounded, type BoundedDecisionDeps } from './bounded-decision.js';
import { foreseenRefusal, type ForecastDeps } from './forecast.js';
import { outboundCallOf, type OutboundDeps } from './outbound-request.js';
import { promptBytesOf, refusalOfReservation, startCall, type CallStarter } from './start-call.js';

export interface PlacingDeps extends OutboundDeps, CallStarter, ForecastDeps, BoundedDecisionDeps {
  idempotencyKeys: IdempotencyKeys;
}

/** A validated request and its principal. */
export interface Order {
  principal: Principal;
  request: OutboundCallRequest;
  /** ms since the epoch. */
  deadline: number;
  idempotencyKey?: string;
}

/** A response to send as it is. `replayed`: it was stored for an earlier request with the same key. */
export interface PlacedAnswer {
  status: number;
  body: CallResponse | ErrorObject;
  replayed: boolean;
}

/** Whether the response is a stored error, not a placed call. */
export function isRefused(answer: PlacedAnswer): answer is PlacedAnswer & { body: ErrorObject } {
  return answer.status !== 200;
}

export function replayHeaders({ replayed }: PlacedAnswer): Record<string, string> {
  return replayed ? { 'Idempotent-Replayed': 'true' } : {};
}

/**
 * Places a call, or returns the stored response of an earlier request with the same idempotency key.
 * @throws ServiceError if the call is refused, CallServiceUnavailable
 */
export async function placeCall(deps: PlacingDeps, order: Order): Promise<PlacedAnswer> {
  if (order.idempotencyKey !== undefined) return placeOnce(deps, order, order.idempotencyKey);
  const call = await within(order.deadline, outboundCallOf(deps, order.principal, order.request));
  const callId = newCallId();
  const answer = (await foresee(deps, order, call)) ?? (await startBounded(deps, order, documentOf(callId, call)));
  const refusal = refusalOfReservation(answer);
  if (refusal) throw refusal;
  return placed(callId);
}

/**
 * Places at most one call per key. Repeats use the same call_id, so that Temporal starts no second workflow. A final
 * response (200, 402) is stored. After any other one the key gets a new call_id, because it could never succeed with
 * the old one.
 */
async function placeOnce(deps: PlacingDeps, order: Order, key: string): Promise<PlacedAnswer> {
  const { idempotencyKeys: keys } = deps;
  const { deadline, principal } = order;
  const owner = { accountId: principal.account._id, mode: principal.mode, key };
  const hashes = hashesOf(order, deps.config.apiKeyPepper);
  const { bodyHash } = hashes;
  const known = await within(deadline, keys.find(owner));
  const kept = known && keptAnswer(known, hashes);
  if (kept) return kept;

  const call = await within(deadline, outboundCallOf(deps, principal, order.request));
  const claim = await within(deadline, keys.claim(owner, { bodyHash, callId: newCallId() }));
  const keptMeanwhile = keptAnswer(claim.row, hashes);
  if (keptMeanwhile) return keptMeanwhile;

  let row = claim.row;
  // An existing key may have a call that was refused: then try once more with the next call_id.
  for (let mayAskAgain = !claim.created; ; mayAskAgain = false) {
    // Not for an existing key: a call that was already started itself occupies a slot and money.
    const foreseen = claim.created ? await foresee(deps, order, call) : undefined;
    const answer = foreseen ?? (await startBounded(deps, order, documentOf(row.callId, call)));
    const refusal = refusalOfReservation(answer);
    if (refusal === undefined) {
      const response = placed(row.callId);
      // The call goes ahead even if its response cannot be stored; a repeat then finds the same call.
      await within(deadline, keys.keep(row, response)).catch(() => undefined);
      return response;
    }
    if (refusal.code === 'INSUFFICIENT_BALANCE') {
      await within(deadline, keys.keep(row, { status: ERRORS[refusal.code].status, body: errorObject(refusal) }));
      throw refusal;
    }
    row = { ...row, callId: await within(deadline, keys.renew(row, newCallId())) };
    if (!mayAskAgain) throw refusal;
  }
}

/** Refuses a new call that is sure to be refused, before anything is stored or started. */
function foresee(
  deps: PlacingDeps,
  { principal, deadline }: Order,
  call: Omit<CallRequestDocument, '_id' | 'createdAt'>,
): Promise<ReservationAnswer | undefined> {
  return within(deadline, foreseenRefusal(deps, principal, call));
}

function startBounded(deps: PlacingDeps, order: Order, document: CallRequestDocument): Promise<ReservationAnswer> {
  return decideBounded(deps, order.principal, document._id, () => startCounted(deps, order, document));
}

/**
 * Starts the call unless a limit of its destination is reached. Counts it beforehand, so that no burst slips through,
 * and withdraws it if the call is refused. A repeat of the same call is not counted again.
 * @throws ServiceError SPEND_LIMIT_EXCEEDED, RATE_LIMIT_EXCEEDED, SERVICE_UNAVAILABLE, CallServiceUnavailable
 */
async function startCounted(
  deps: PlacingDeps,
  { principal, deadline }: Order,
  document: CallRequestDocument,
): Promise<ReservationAnswer> {
  const { account, mode } = principal;
  const dial = {
    account,
    mode,
    callId: document._id,
    leg: 'call' as const,
    to: document.toPhoneNumber,
    promptBytes: promptBytesOf(document),
  };
  const reached = await within(deadline, deps.dialGate.admit(dial));
  if (reached) throw reached;
  const answer = await startCall(deps, document, deadline);
  if (refusalOfReservation(answer) !== undefined) {
    // If this fails, the call stays counted, which is the safe side; the client still gets the refusal.
    await within(deadline, deps.dialGate.withdraw(dial)).catch(() => undefined);
  }
  return answer;
}

/** The response stored for a key. @throws ServiceError IDEMPOTENCY_CONFLICT if the key was used with another request */
function keptAnswer(row: IdempotencyKeyDocument, { bodyHash, unkeyed }: RequestHashes): PlacedAnswer | undefined {
  if (row.bodyHash !== bodyHash && row.bodyHash !== unkeyed) {
    throw new ServiceError('IDEMPOTENCY_CONFLICT', 'This Idempotency-Key was used with another request.');
  }
  if (row.answerStatus === undefined || row.answerBody === undefined) return undefined;
  return { status: row.answerStatus, body: JSON.parse(row.answerBody) as PlacedAnswer['body'], replayed: true };
}

interface RequestHashes {
  bodyHash: string;
  /** Unkeyed SHA-256, as older releases stored it. Only compared, because a phone number can be guessed from it. */
  unkeyed: string;
}

/** Hashes of the validated fields in declared order, so that formatting and unknown fields do not matter. */
function hashesOf({ principal, request }: Order, pepper: string): RequestHashes {
  const text = JSON.stringify(request);
  const place = `idempotency:${principal.account._id}:${principal.mode}:`;
  return {
    bodyHash: createHmac('sha256', pepper).update(place).update(text).digest('hex'),
    unkeyed: createHash('sha256').update(text).digest('hex'),
  };
}

function documentOf(callId: string, call: Omit<CallRequestDocument, '_id' | 'createdAt'>): CallRequestDocument {
  return { _id: callId, ...call, createdAt: new Date() };
}

function newCallId(): string {
  return `call_${ulid()}`;
}

function placed(callId: string): PlacedAnswer {
  const body: CallResponse = { success: true, call_id: callId, status: 'RINGING', message: 'The call is ringing.' };
  return { status: 200, body, replayed: false };
}
