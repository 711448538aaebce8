import { promptBytes } from '../../agents/prompt-size.js';
import { CallServiceUnavailable, type CallGateway } from '../gateway.js';
import type { Config } from '../../platform/config/config.js';
import { ServiceError } from '../../kernel/errors.js';
import type { CallInput, ReservationAnswer } from '../../kernel/call-signals.js';
import type { CallRequests } from '../call-requests.js';
import type { CallRequestDocument } from '../call-request-model.js';
import { unavailable, within } from '../../platform/http/deadline.js';
import type { ServerClock } from '../../platform/mongo/server-clock.js';
import type { GivenUpCalls } from './given-up-calls.js';

/** Kept of the time to the deadline for the answer's way back from the workflow to the client. */
const ANSWER_WAY_MS = 300;

/** Kept of it to give the call up, or to learn that it goes ahead, when the workflow has not answered. */
const GIVE_UP_MS = 150;

/** A reservation that would have less time than this is not begun. */
const LEAST_RESERVATION_MS = 100;

export interface CallStarter {
  config: Config;
  gateway: CallGateway;
  requests: CallRequests;
  givenUpCalls: GivenUpCalls;
  /** The database server's. */
  clock: ServerClock;
}

/**
 * Writes down what was asked for and starts the call, or finds the one that was started under this id. Whichever request
 * came first stands.
 * @param deadline ms since the epoch. The reservation is decided before it, or the call is given up: a client that is told
 *   to ask again is neither called nor billed for this call. When too little time is left, nothing is started.
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
  const now = await within(deadline, deps.clock());
  const input = inputOf(request, deps.config, { now, withinMs: reservationTime(deps.config, deadline) });
  try {
    return await deps.gateway.start(input, deadline - GIVE_UP_MS);
  } catch (error) {
    if (!(error instanceof CallServiceUnavailable)) throw error;
    // Its start or its answer may still be on the way.
    if ((await deps.givenUpCalls.giveUp(request._id, deadline)) === 'begun') return { outcome: 'granted' };
    throw error;
  }
}

/** The bytes of what the model is told in each request of a call. */
export function promptBytesOf({ agent, inputParameters }: CallRequestDocument): number {
  const { instruction, tools, outputParameters } = agent;
  return promptBytes({ instruction, tools, inputParameters, outputParameters });
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

function inputOf(
  request: CallRequestDocument,
  config: Config,
  { now, withinMs }: { now: number; withinMs: number },
): CallInput {
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
    answerWithinMs: withinMs,
    decideBy: now + withinMs,
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
