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

/** Time reserved before the deadline for the response to travel from the workflow to the client. */
const ANSWER_WAY_MS = 300;

/** The part of it reserved to give the call up, or find that it goes ahead, if the workflow has not responded. */
const GIVE_UP_MS = 150;

/** A reservation with less time than this is not started. */
const LEAST_RESERVATION_MS = 100;

export interface CallStarter {
  config: Config;
  gateway: CallGateway;
  requests: CallRequests;
  givenUpCalls: GivenUpCalls;
  /** The database server's clock. */
  clock: ServerClock;
}

/**
 * Stores the request and starts the call, or finds the call already started with this id. The first request wins.
 * @param deadline ms since the epoch. The reservation is decided before it, or the call is given up: a call whose
 * client gets 503 is neither dialed nor billed. When too little time is left, nothing is started.
 * @throws ServiceError SERVICE_UNAVAILABLE, CallServiceUnavailable
 */
export async function startCall(
  deps: CallStarter,
  asked: CallRequestDocument,
  deadline: number,
): Promise<ReservationAnswer> {
  // Check here too, so that nothing is stored for a call that is not started.
  reservationTime(deps.config, deadline);
  const request = await within(deadline, standingRequest(deps.requests, asked));
  const now = await within(deadline, deps.clock());
  const input = inputOf(request, deps.config, { now, withinMs: reservationTime(deps.config, deadline) });
  try {
    return await deps.gateway.start(input, deadline - GIVE_UP_MS);
  } catch (error) {
    if (!(error instanceof CallServiceUnavailable)) throw error;
    // The workflow may have started, or may start, although its response did not arrive.
    if ((await deps.givenUpCalls.giveUp(request._id, deadline)) === 'begun') return { outcome: 'granted' };
    throw error;
  }
}

/** Bytes of the prompt that every LLM request of the call contains. */
export function promptBytesOf({ agent, inputParameters }: CallRequestDocument): number {
  const { instruction, tools, outputParameters } = agent;
  return promptBytes({ instruction, tools, inputParameters, outputParameters });
}

/** Time for the reservation, in ms. @throws ServiceError SERVICE_UNAVAILABLE if too little time is left */
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

/** The error for a reservation's result; undefined if the call goes ahead. */
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
