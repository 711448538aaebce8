import { promptBytes } from '../../agents/prompt-size.js';
import { CallServiceUnavailable, type CallGateway } from '../gateway.js';
import type { Config } from '../../platform/config/config.js';
import { AccountFrozenError, ServiceError } from '../../kernel/errors.js';
import type { CallStart, ReservationResult } from '../../kernel/call-signals.js';
import type { CallRequests } from '../call-requests.js';
import type { CallRequestDocument } from '../call-request-model.js';
import { serviceUnavailable, withDeadline } from '../../platform/http/deadline.js';
import { joinTraceOfCall } from '../../platform/telemetry/spans.js';
import { findOfAccount } from '../../telephony/accounts/account-of-call.js';
import type { ServerClock } from '../../platform/mongo/server-clock.js';
import type { GivenUpCalls } from './given-up-calls.js';

/** Time before the deadline that is reserved for the response to travel from the workflow to the client. */
const RESPONSE_TRANSIT_MS = 300;

/** Time before the deadline in which a call without a response from the workflow is given up, or found to go ahead. */
const GIVE_UP_MS = 150;

/** Minimum time for a reservation. With less time left, the call is not started. */
const MIN_RESERVATION_MS = 100;

export interface CallStarter {
  config: Config;
  gateway: CallGateway;
  requests: CallRequests;
  givenUpCalls: GivenUpCalls;
  /** The database server's clock. */
  clock: ServerClock;
}

/**
 * Stores the request and starts the call, or finds the call already started with this id. Of several requests with one
 * id, the first applies.
 * @param deadline ms since the epoch. Until then the call is accepted, rejected or given up. A call whose client gets
 * 503 is neither dialed nor billed. With too little time left, nothing is started.
 * @param terms.onGivenUp runs, perhaps later, if the call was given up before it could begin
 * @param terms.mayHangUp asked before the call is hung up if it has begun although this request got 503
 * @param terms.ledgerEpoch epoch of the ledger account, if it was read before
 * @throws ServiceError SERVICE_UNAVAILABLE, CallServiceUnavailable
 */
export async function startCall(
  deps: CallStarter,
  requested: CallRequestDocument,
  deadline: number,
  terms: { onGivenUp?: () => Promise<void> } & Pick<CallCounts, 'mayHangUp' | 'ledgerEpoch'> = {},
): Promise<ReservationResult> {
  const { onGivenUp = () => Promise.resolve(), mayHangUp, ledgerEpoch } = terms;
  // Check the remaining time before anything is stored, because without enough time the call is not started.
  requireReservationTime(deps.config, deadline);
  const { request, isNew } = await withDeadline(deadline, storeOrFindRequest(deps.requests, requested));
  joinTraceOfCall(request._id, { begins: isNew });
  const now = await withDeadline(deadline, deps.clock());
  const withinMs = requireReservationTime(deps.config, deadline);
  // An operation of a call that was stored before may be older than the epoch.
  const epoch = isNew && ledgerEpoch !== undefined ? { ledgerEpoch } : {};
  const input = createCallInput(request, deps.config, { now, withinMs, ...epoch });
  try {
    return await deps.gateway.start(input, deadline - GIVE_UP_MS);
  } catch (error) {
    if (!(error instanceof CallServiceUnavailable)) throw error;
    // The workflow may have started, or may still start, although no response arrived.
    const decision = await deps.givenUpCalls.giveUp(request._id, deadline, { onGivenUp, mayHangUp });
    if (decision === 'begun') return { outcome: 'granted' };
    throw error;
  }
}

/** The counts of a call in the limits of its account and destination. */
interface CallCounts {
  /** Counts the call. A repeat of the same call is not counted again. @throws ServiceError if a limit is reached */
  add: () => Promise<void>;
  remove: () => Promise<void>;
  /** As for {@link startCall}. */
  mayHangUp?: (() => Promise<boolean>) | undefined;
  ledgerEpoch?: number | undefined;
}

/**
 * Starts the call unless a limit is reached. Counts the call before starting it, so that a burst of calls cannot exceed
 * a limit. Takes it off the counts when it is rejected or given up. If that fails, the call stays counted, which is the
 * safe side.
 * @param deadline as for {@link startCall}
 * @throws ServiceError of `add`; SERVICE_UNAVAILABLE; CallServiceUnavailable
 */
export async function countAndStartCall(
  deps: CallStarter,
  requested: CallRequestDocument,
  deadline: number,
  counts: CallCounts,
): Promise<ReservationResult> {
  requireReservationTime(deps.config, deadline);
  await withDeadline(deadline, counts.add());
  try {
    const { remove: onGivenUp, mayHangUp, ledgerEpoch } = counts;
    const reservation = await startCall(deps, requested, deadline, { onGivenUp, mayHangUp, ledgerEpoch });
    if (reservationError(reservation) !== undefined)
      await withDeadline(deadline, counts.remove()).catch(() => undefined);
    return reservation;
  } catch (error) {
    // The call is given up first, because otherwise a repeated request could start it although it is not counted.
    if (!(error instanceof CallServiceUnavailable)) deps.givenUpCalls.giveUpUnstarted(requested._id, counts.remove);
    throw error;
  }
}

/** Bytes of the prompt that every LLM request of the call contains. */
export function countPromptBytes({ agent, inputParameters }: CallRequestDocument): number {
  return promptBytes({ ...agent, inputParameters });
}

/** Returns the time for the reservation, in ms. @throws ServiceError SERVICE_UNAVAILABLE if too little time is left */
function requireReservationTime({ calls: { answerWithinMs } }: Config, deadline: number): number {
  const left = Math.min(answerWithinMs, deadline - Date.now() - RESPONSE_TRANSIT_MS);
  if (left < Math.min(MIN_RESERVATION_MS, answerWithinMs)) throw serviceUnavailable();
  return left;
}

async function storeOrFindRequest(
  requests: CallRequests,
  requested: CallRequestDocument,
): Promise<{ request: CallRequestDocument; isNew: boolean }> {
  if ((await requests.insert(requested)) === 'inserted') return { request: requested, isNew: true };
  return { request: (await requests.find(requested._id)) ?? requested, isNew: false };
}

function createCallInput(
  request: CallRequestDocument,
  config: Config,
  { now, withinMs, ledgerEpoch }: { now: number; withinMs: number; ledgerEpoch?: number },
): CallStart {
  const { holdWindows } = config.calls;
  const paced = request.direction === 'outbound' && isPaced(config, request);
  return {
    callId: request._id,
    accountId: request.accountId,
    mode: request.mode,
    direction: request.direction,
    agentId: request.agent.agentId,
    ringTimeoutSeconds: request.ringTimeoutSeconds,
    maxDurationSeconds: request.maxDurationSeconds,
    answerWithinMs: withinMs,
    decideBy: now + withinMs,
    notify: request.webhookUrl !== undefined,
    ...(request.carrierAccountId === undefined ? {} : { carrierAccountId: request.carrierAccountId }),
    ...(request.carrierSid === undefined ? {} : { carrierSid: request.carrierSid }),
    ...(holdWindows === undefined ? {} : { windows: holdWindows }),
    ...(paced ? { paced } : {}),
    ...(request.streamWithinMs === undefined ? {} : { streamWithinMs: request.streamWithinMs }),
    ...(ledgerEpoch === undefined ? {} : { ledgerEpoch }),
  };
}

/** Whether the account of a call limits calls per second. If it is no longer configured, the call is not dialed anyway. */
function isPaced({ carriers }: Config, request: CallRequestDocument): boolean {
  const account = findOfAccount(carriers, request, ({ carrierAccountId }) => carrierAccountId);
  return account?.callsPerSecond !== undefined;
}

/** Returns the error for the result of a reservation; undefined if the call goes ahead. */
export function reservationError(reservation: ReservationResult): ServiceError | undefined {
  if (reservation.outcome === 'granted') return undefined;
  if (reservation.outcome === 'expired') return serviceUnavailable();
  switch (reservation.code) {
    case 'INSUFFICIENT_BALANCE':
      return new ServiceError(reservation.code, 'The balance does not cover one minute. Top up the account.');
    case 'SPEND_LIMIT_EXCEEDED':
      return new ServiceError(
        reservation.code,
        'The account has reached its spending limit for this UTC day. Try again the next day, or ask the operator for a higher limit.',
      );
    case 'ACCOUNT_FROZEN':
      return new AccountFrozenError();
    case 'CONCURRENCY_LIMIT_EXCEEDED': {
      const { limit, current } = reservation;
      return new ServiceError(
        reservation.code,
        `The account has ${current} of at most ${limit} concurrent calls. Try again when one has ended.`,
        {
          limit,
          current,
        },
      );
    }
  }
}
