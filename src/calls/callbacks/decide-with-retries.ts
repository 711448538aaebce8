import { setTimeout as sleep } from 'node:timers/promises';
import { withDeadline } from '../../platform/http/deadline.js';
import { retryUntil } from '../../platform/retry.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { ResponseContext, CallInstruction, CarrierCallRef } from '../../telephony/callbacks.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { CallRequests } from '../call-requests.js';
import type { CallGateway } from '../gateway.js';
import { findCallbackRequest } from './find-callback-request.js';
import { CANNOT_CONNECT } from './apologies.js';

export interface DecideWithRetriesDeps {
  gateway: CallGateway;
  requests: CallRequests;
  bindings: CarrierBindings;
  logger: Logger;
}

/** A call about which the carrier asks for instructions. */
export interface InstructedCall {
  callId: string;
  carrierCall: CarrierCallRef;
  context: ResponseContext;
  /** Number of the last stream of the call; `NO_STREAM` if it had none. */
  lastStream: number;
  /** True if the conversation ended normally before. Then a failure does not change the end reason. */
  isConversationOver: boolean;
}

/** Timeout of one attempt. It is short, so that one dead connection does not use up the time until the deadline. */
const ATTEMPT_MS = 3_000;
const PAUSE_MS = 250;
/** Time before the deadline that is reserved for recording that the call is given up. */
const GIVE_UP_RESERVE_MS = 1_000;
/**
 * This long after its deadline, a response no longer reaches the carrier: the process was frozen, and the carrier has asked
 * another one, which may have continued the call.
 */
const LATE_MS = 2_000;
/** How long we try to record that the call is given up, even after the response to the carrier. */
const RECORD_FOR_MS = 60_000;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Returns a function that decides an instruction for the carrier despite temporary failures of Temporal and MongoDB. It
 * retries until shortly before the deadline, then gives the call up: the remote party hears an apology, and the call
 * ends as media_failed. A process that was frozen meanwhile gives up nothing.
 */
export function createDecideWithRetries(deps: DecideWithRetriesDeps) {
  const { logger } = deps;

  /** @param decide must be safe to repeat. Its argument is the deadline of the attempt, in ms since the epoch. */
  return async function decideWithRetries(
    call: InstructedCall,
    decide: (deadline: number) => Promise<CallInstruction>,
  ): Promise<CallInstruction> {
    const { callId, context, isConversationOver } = call;
    try {
      return await tryUntil(context.deadline - GIVE_UP_RESERVE_MS, decide);
    } catch (error) {
      logger.error(
        { callId, requestId: context.requestId, err: error },
        'no instruction could be decided before the deadline',
      );
      const isLate = Date.now() > context.deadline + LATE_MS;
      if (!isConversationOver && !isLate) await giveUp(deps, call);
      return CANNOT_CONNECT;
    }
  };
}

async function tryUntil<T>(deadline: number, attempt: (deadline: number) => Promise<T>): Promise<T> {
  for (;;) {
    const attemptUntil = Math.min(deadline, Date.now() + ATTEMPT_MS);
    try {
      return await withDeadline(attemptUntil, attempt(attemptUntil));
    } catch (error) {
      if (Date.now() + PAUSE_MS >= deadline) throw error;
    }
    await sleep(PAUSE_MS);
  }
}

/**
 * Records that the call is given up, in Temporal or MongoDB, whichever is available: as a signal to the workflow, or in
 * a row that the workflow reads after the call. A process that was cut off meanwhile records it up to a minute later; then
 * another process may have continued the call in a later stream, and the record changes nothing.
 */
async function giveUp(deps: DecideWithRetriesDeps, call: InstructedCall): Promise<void> {
  const { callId, context } = call;
  const at = Date.now();
  const stopRetries = new AbortController();
  const writes = [() => recordInBinding(deps, call, at), () => signalWorkflow(deps, call, at)];
  const limits = {
    until: at + RECORD_FOR_MS,
    firstPauseMs: PAUSE_MS,
    longestPauseMs: LONGEST_PAUSE_MS,
    signal: stopRetries.signal,
  };
  const recorded = Promise.any(writes.map((write) => retryUntil(write, limits)))
    .then(() => stopRetries.abort())
    .catch((error: unknown) => {
      deps.logger.error({ callId, err: error }, 'given-up call could not be recorded in MongoDB or Temporal');
    });
  await withDeadline(context.deadline, recorded).catch(() => undefined);
}

async function signalWorkflow(
  { gateway }: DecideWithRetriesDeps,
  { callId, carrierCall: { carrierSid }, lastStream: after }: InstructedCall,
  at: number,
) {
  await gateway.signalMedia(
    callId,
    { kind: 'given_up', at, after, carrierSid, reason: 'media_failed' },
    `${carrierSid}:given_up:${after}`,
  );
}

async function recordInBinding(
  { requests, bindings }: DecideWithRetriesDeps,
  { callId, carrierCall, lastStream: after }: InstructedCall,
  at: number,
) {
  const request = await findCallbackRequest(requests, callId, carrierCall);
  if (request === undefined) return;
  const binding = await bindings.bind(callId, carrierCall.carrierSid, carrierCall.carrier, request);
  if (binding.carrierSid === carrierCall.carrierSid)
    await bindings.recordGivenUp(callId, carrierCall.carrierSid, { at: new Date(at), after });
}
