import type { CallGateway } from '../gateway.js';
import type { Config } from '../../platform/config/config.js';
import { ServiceError } from '../../kernel/errors.js';
import type { CallInput, ReservationAnswer } from '../../kernel/call-signals.js';
import type { CallRequests } from '../call-requests.js';
import type { CallRequestDocument } from '../call-request-model.js';
import { unavailable, within } from '../../platform/http/deadline.js';

/** Kept of the time to the deadline for the answer's way back from the workflow to the client. */
const ANSWER_WAY_MS = 300;

/** A reservation that would have less time than this is not begun. */
const LEAST_RESERVATION_MS = 100;

export interface CallStarter {
  config: Config;
  gateway: CallGateway;
  requests: CallRequests;
}

/**
 * Writes down what was asked for and starts the call, or finds the one that was started under this id. Whichever request
 * came first stands.
 * @param deadline ms since the epoch. The reservation is decided before it, or the call is given up: a client that is told
 *   to ask again is not billed for this call. When too little time is left, nothing is started.
 * @throws ServiceError SERVICE_UNAVAILABLE, CallServiceUnavailable
 */
export async function startCall(
  deps: CallStarter,
  asked: CallRequestDocument,
  deadline: number,
): Promise<ReservationAnswer> {
  // Looked at first as well: nothing is stored of a call that is not begun.
  reservationTime(deps.config, deadline);
  const request = await within(deadline, standingRequest(deps.requests, asked));
  return deps.gateway.start(inputOf(request, deps.config, reservationTime(deps.config, deadline)), deadline);
}

/** How long the reservation may take, in ms. @throws ServiceError SERVICE_UNAVAILABLE when too little time is left for it */
function reservationTime({ calls: { answerWithinMs } }: Config, deadline: number): number {
  const left = Math.min(answerWithinMs, deadline - Date.now() - ANSWER_WAY_MS);
  if (left < Math.min(LEAST_RESERVATION_MS, answerWithinMs)) throw unavailable();
  return left;
}

async function standingRequest(requests: CallRequests, asked: CallRequestDocument): Promise<CallRequestDocument> {
  if ((await requests.insert(asked)) === 'inserted') return asked;
  return (await requests.find(asked._id)) ?? asked;
}

function inputOf(request: CallRequestDocument, config: Config, answerWithinMs: number): CallInput {
  const { holdWindows } = config.calls;
  const paced = request.direction === 'outbound' && config.carriers[request.mode].callsPerSecond !== undefined;
  return {
    callId: request._id,
    accountId: request.accountId,
    mode: request.mode,
    direction: request.direction,
    agentId: request.agent.agentId,
    ringTimeoutSeconds: request.ringTimeoutSeconds,
    maxDurationSeconds: request.maxDurationSeconds,
    answerWithinMs,
    notify: request.webhookUrl !== undefined,
    ...(request.carrierSid === undefined ? {} : { carrierSid: request.carrierSid }),
    ...(holdWindows === undefined ? {} : { windows: holdWindows }),
    ...(paced ? { paced } : {}),
  };
}

/** The refusal that a reservation's answer means to the client; undefined when the call goes ahead. */
export function refusalOfReservation(answer: ReservationAnswer): ServiceError | undefined {
  if (answer.outcome === 'granted') return undefined;
  if (answer.outcome === 'expired') return unavailable();
  switch (answer.code) {
    case 'INSUFFICIENT_BALANCE':
      return new ServiceError(answer.code, 'The balance does not cover a minute of talk. Please top up the account.');
    case 'SPEND_LIMIT_EXCEEDED':
      return new ServiceError(answer.code, 'The account has reached its spending limit.');
    case 'ACCOUNT_FROZEN':
      return new ServiceError('SERVICE_UNAVAILABLE', 'The account is being checked. Please try again later.');
    case 'CONCURRENCY_LIMIT_EXCEEDED': {
      const { limit, current } = answer;
      return new ServiceError(answer.code, `The account has ${current} of ${limit} calls in progress.`, {
        limit,
        current,
      });
    }
  }
}
