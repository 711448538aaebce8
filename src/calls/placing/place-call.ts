import { createHash, createHmac } from 'node:crypto';
import { ulid } from 'ulid';
import type { Config } from '../../platform/config/config.js';
import type { CallResponse, OutboundCallRequest } from './contract.js';
import { ERRORS, storedError, type StoredError } from '../../platform/http/contract/errors.js';
import { ServiceError } from '../../kernel/errors.js';
import type { ReservationResult } from '../../kernel/call-signals.js';
import type { IdempotencyKeys } from './idempotency-keys.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { IdempotencyKeyDocument } from './idempotency-key-model.js';
import type { Principal } from '../../identity/access/principal.js';
import { serviceUnavailable, withDeadline } from '../../platform/http/deadline.js';
import { decideWithinLimits, type DecisionLimitDeps } from './decision-limits.js';
import { predictRejection, type Prediction, type PredictRejectionDeps } from './predict-rejection.js';
import { createOutboundRequest, type OutboundDeps } from './outbound-request.js';
import { reportDecision } from './report-decision.js';
import { countAndStartCall, countPromptBytes, reservationError, type CallStarter } from './start-call.js';

export interface PlacingDeps extends OutboundDeps, CallStarter, PredictRejectionDeps, DecisionLimitDeps {
  idempotencyKeys: IdempotencyKeys;
}

/** A validated request and its principal. */
export interface PlaceCallInput {
  principal: Principal;
  request: OutboundCallRequest;
  /** Percent-encoded names of fields that the request contains but the interface does not know; at most 1 kB. */
  unknownFields?: readonly string[];
  /** The X-Request-Id. */
  requestId: string;
  /** In ms since the epoch. */
  deadline: number;
  idempotencyKey?: string;
  /** Gets the id of the call before it is started, for the log. */
  onCallId?: (callId: string) => void;
}

/** A response to send unchanged. `replayed`: it was stored for an earlier request with the same key. */
export interface PlaceCallResponse {
  status: number;
  body: CallResponse | StoredError;
  replayed: boolean;
}

/** Whether the response is an error, not a placed call. */
export function isErrorResponse(response: PlaceCallResponse): response is PlaceCallResponse & { body: StoredError } {
  return response.status !== 200;
}

/** How to send a response: a replayed one says so, and its request changed nothing. */
export function replayOptions({ replayed }: PlaceCallResponse) {
  return { headers: replayed ? { 'Idempotent-Replayed': 'true' } : {}, unchanged: replayed };
}

/**
 * Places a call, or returns the stored response of an earlier request with the same idempotency key.
 * @throws ServiceError if the call is rejected, CallServiceUnavailable
 */
export function placeCall(deps: PlacingDeps, input: PlaceCallInput): Promise<PlaceCallResponse> {
  const { principal, idempotencyKey: key } = input;
  const place = () => (key === undefined ? placeWithoutKey(deps, input) : placeWithKey(deps, input, key));
  return reportDecision(principal.mode, place, ({ replayed }) => replayed);
}

async function placeWithoutKey(deps: PlacingDeps, input: PlaceCallInput): Promise<PlaceCallResponse> {
  const call = await withDeadline(input.deadline, createCall(deps, input));
  const callId = newCallId();
  const prediction = await predictReservation(deps, input, call);
  const reservation =
    prediction.rejection ?? (await startWithinLimits(deps, input, createRequestDocument(callId, call), prediction));
  const rejection = reservationError(reservation);
  if (rejection) throw rejection;
  return successResponse(callId);
}

async function createCall(
  deps: PlacingDeps,
  { principal, request, requestId, unknownFields = [] }: PlaceCallInput,
): Promise<Omit<CallRequestDocument, '_id' | 'createdAt'>> {
  const call = { ...(await createOutboundRequest(deps, principal, request)), requestId };
  return unknownFields.length === 0 ? call : { ...call, unknownFields };
}

/**
 * Places at most one call per key. Repeats use the same call_id, so that Temporal starts no second workflow. A final
 * response (200, 402) is stored. After any other response the key gets a new call_id, because a call with the old
 * call_id could never succeed.
 */
async function placeWithKey(deps: PlacingDeps, input: PlaceCallInput, key: string): Promise<PlaceCallResponse> {
  const { idempotencyKeys: keys } = deps;
  const { deadline, principal } = input;
  const owner = { accountId: principal.account._id, mode: principal.mode, key };
  const hashes = hashRequest(input, deps.config);
  const { bodyHash } = hashes;
  const known = await withDeadline(deadline, keys.find(owner));
  const stored = known && readStoredResponse(known, hashes);
  if (stored) return stored;

  const call = await withDeadline(deadline, createCall(deps, input));
  // Predict a rejection only without a row. The call of an existing key may have started, and then the slot and money that
  // seem to be missing may be its own. A prediction holds for this request only: another one with the same key, at the same
  // time, may be granted. So it must not change a row.
  const predicted = known === null ? await predictReservation(deps, input, call) : undefined;
  const predictedError = predicted?.rejection && reservationError(predicted.rejection);
  if (predictedError && !isStored(predictedError)) throw predictedError;
  const response = predictedError && errorResponse(predictedError);
  const claim = await withDeadline(deadline, keys.claim(owner, { bodyHash, callId: newCallId() }, response));
  if (claim.created && predictedError) throw predictedError;
  const storedMeanwhile = readStoredResponse(claim.row, hashes);
  if (storedMeanwhile) return storedMeanwhile;

  let row = claim.row;
  // The call of an existing key may have been rejected. Then try once more with the next call_id.
  for (let mayRetry = !claim.created; ; mayRetry = false) {
    const document = createRequestDocument(row.callId, call);
    const claimed = row;
    const mayHangUp = () => keys.disown(claimed, newCallId());
    const terms = { ledgerEpoch: predicted?.ledgerEpoch, mayHangUp };
    const reservation = await startWithinLimits(deps, input, document, terms);
    const rejection = reservationError(reservation);
    if (rejection === undefined) {
      const response = successResponse(row.callId);
      // If storing the response fails, the call still goes ahead, and a repeated request finds it. But a request that got 503
      // for this call may be about to hang it up, which it does not once the response is stored.
      const outcome = await withDeadline(deadline, keys.storeResponse(row, response)).catch(() =>
        claim.created ? 'stored' : 'moved',
      );
      if (outcome === 'moved') throw serviceUnavailable();
      return response;
    }
    if (isStored(rejection)) {
      await withDeadline(deadline, keys.storeResponse(row, errorResponse(rejection)));
      throw rejection;
    }
    row = { ...row, callId: await withDeadline(deadline, keys.assignNewCall(row, newCallId())) };
    if (!mayRetry) throw rejection;
  }
}

/** Whether the rejection is the final response to a key. After another one, the key can be used again. */
function isStored({ code }: ServiceError): boolean {
  return code === 'INSUFFICIENT_BALANCE';
}

function errorResponse(error: ServiceError): { status: number; body: StoredError } {
  return { status: ERRORS[error.code].status, body: storedError(error) };
}

/** As for `startCall`. */
interface StartTerms {
  ledgerEpoch?: number | undefined;
  mayHangUp?: () => Promise<boolean>;
}

/** Rejects a new call before anything is stored or started, if its reservation is sure to fail. */
function predictReservation(
  deps: PlacingDeps,
  { principal, deadline }: PlaceCallInput,
  call: Omit<CallRequestDocument, '_id' | 'createdAt'>,
): Promise<Prediction> {
  return withDeadline(deadline, predictRejection(deps, principal, call));
}

function startWithinLimits(
  deps: PlacingDeps,
  input: PlaceCallInput,
  document: CallRequestDocument,
  terms: StartTerms,
): Promise<ReservationResult> {
  return decideWithinLimits(deps, input.principal, document, () => countAndStart(deps, input, document, terms));
}

/**
 * Starts the call unless a limit of its account or destination is reached.
 * @throws ServiceError SPEND_LIMIT_EXCEEDED, RATE_LIMIT_EXCEEDED, SERVICE_UNAVAILABLE, CallServiceUnavailable
 */
function countAndStart(
  deps: PlacingDeps,
  { principal, deadline, onCallId }: PlaceCallInput,
  document: CallRequestDocument,
  { ledgerEpoch, mayHangUp }: StartTerms,
): Promise<ReservationResult> {
  const { account, mode } = principal;
  onCallId?.(document._id);
  const dial = {
    account,
    mode,
    callId: document._id,
    leg: 'call' as const,
    to: document.toPhoneNumber,
    promptBytes: countPromptBytes(document),
  };
  return countAndStartCall(deps, document, deadline, {
    add: async () => {
      const reached = await deps.dialGate.admit(dial);
      if (reached) throw reached;
    },
    remove: () => deps.dialGate.withdraw(dial),
    ledgerEpoch,
    mayHangUp,
  });
}

/** The response stored for a key. @throws ServiceError IDEMPOTENCY_CONFLICT if the key was used with another request */
function readStoredResponse(
  row: IdempotencyKeyDocument,
  { bodyHash, accepted }: RequestHashes,
): PlaceCallResponse | undefined {
  if (row.bodyHash !== bodyHash && !accepted.includes(row.bodyHash)) {
    throw new ServiceError('IDEMPOTENCY_CONFLICT', 'Idempotency-Key was used with another request. Use a new key.');
  }
  if (row.answerStatus === undefined || row.answerBody === undefined) return undefined;
  return { status: row.answerStatus, body: JSON.parse(row.answerBody) as PlaceCallResponse['body'], replayed: true };
}

interface RequestHashes {
  bodyHash: string;
  /**
   * Hashes that may be stored: under former peppers, and SHA-256 without a key, from which phone numbers can be guessed, as
   * older releases stored it.
   */
  accepted: readonly string[];
}

/** Hashes the validated fields in the declared order, so that formatting and unknown fields make no difference. */
function hashRequest(
  { principal, request }: PlaceCallInput,
  { apiKeyPepper, formerPeppers }: Pick<Config, 'apiKeyPepper' | 'formerPeppers'>,
): RequestHashes {
  const text = JSON.stringify(request);
  const context = `idempotency:${principal.account._id}:${principal.mode}:`;
  const hashWith = (pepper: string) => createHmac('sha256', pepper).update(context).update(text).digest('hex');
  const unkeyed = createHash('sha256').update(text).digest('hex');
  return { bodyHash: hashWith(apiKeyPepper), accepted: [...formerPeppers.map(hashWith), unkeyed] };
}

function createRequestDocument(
  callId: string,
  call: Omit<CallRequestDocument, '_id' | 'createdAt'>,
): CallRequestDocument {
  return { _id: callId, ...call, createdAt: new Date() };
}

function newCallId(): string {
  return `call_${ulid()}`;
}

function successResponse(callId: string): PlaceCallResponse {
  const body: CallResponse = { success: true, call_id: callId, status: 'RINGING', message: 'The call is ringing.' };
  return { status: 200, body, replayed: false };
}
