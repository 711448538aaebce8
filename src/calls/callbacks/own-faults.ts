import { setTimeout as sleep } from 'node:timers/promises';
import { within } from '../../platform/http/deadline.js';
import { retryUntil } from '../../platform/retry.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { AnswerTerms, CallInstruction, CarrierCallRef } from '../../telephony/callbacks.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { CallRequests } from '../call-requests.js';
import type { CallGateway } from '../gateway.js';
import { calledRequest } from './called-request.js';
import { CANNOT_CONNECT } from './sorry.js';

export interface OwnFaultDeps {
  gateway: CallGateway;
  requests: CallRequests;
  bindings: CarrierBindings;
  logger: Logger;
}

/** A call about which the carrier asks for instructions. */
export interface AskingCall {
  callId: string;
  told: CarrierCallRef;
  terms: AnswerTerms;
  /** The conversation had already ended normally, so a failure now does not change the end reason. */
  isTalkOver: boolean;
}

/** Timeout of one attempt, so that a dead connection does not use up the whole deadline. */
const ATTEMPT_MS = 3_000;
const PAUSE_MS = 250;
/** Part of the deadline reserved for recording that the call is given up. */
const TELL_WITHIN_MS = 1_000;
/** How long we try to record it, even after the response to the carrier. */
const TELL_FOR_MS = 60_000;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Returns a function that decides an instruction for the carrier despite temporary failures of Temporal and MongoDB. It
 * retries the decision until shortly before the deadline. Then it gives the call up: the remote party hears an apology,
 * and the call ends as media_failed.
 */
export function createInstructing(deps: OwnFaultDeps) {
  const { logger } = deps;

  /** @param decide must be safe to repeat. It gets the deadline of the attempt, in ms since the epoch. */
  return async function instructed(
    call: AskingCall,
    decide: (deadline: number) => Promise<CallInstruction>,
  ): Promise<CallInstruction> {
    const { callId, terms, isTalkOver } = call;
    try {
      return await tryUntil(terms.deadline - TELL_WITHIN_MS, decide);
    } catch (error) {
      logger.error({ callId, requestId: terms.requestId, err: error }, 'a call cannot continue and is given up');
      if (!isTalkOver) await giveUp(deps, call);
      return CANNOT_CONNECT;
    }
  };
}

async function tryUntil<T>(deadline: number, attempt: (deadline: number) => Promise<T>): Promise<T> {
  for (;;) {
    const attemptUntil = Math.min(deadline, Date.now() + ATTEMPT_MS);
    try {
      return await within(attemptUntil, attempt(attemptUntil));
    } catch (error) {
      if (Date.now() + PAUSE_MS >= deadline) throw error;
    }
    await sleep(PAUSE_MS);
  }
}

/**
 * Records it in the store that is available: as a signal to the workflow, or in a row that the workflow reads after the
 * call.
 */
async function giveUp(deps: OwnFaultDeps, { callId, told, terms }: AskingCall): Promise<void> {
  const at = Date.now();
  const isTold = new AbortController();
  const ways = [() => note(deps, callId, told, at), () => signal(deps, callId, told, at)];
  const limits = {
    until: at + TELL_FOR_MS,
    firstPauseMs: PAUSE_MS,
    longestPauseMs: LONGEST_PAUSE_MS,
    signal: isTold.signal,
  };
  const telling = Promise.any(ways.map((tell) => retryUntil(tell, limits)))
    .then(() => isTold.abort())
    .catch((error: unknown) => {
      deps.logger.error({ callId, err: error }, 'a call was given up, and neither store could record it');
    });
  await within(terms.deadline, telling).catch(() => undefined);
}

async function signal({ gateway }: OwnFaultDeps, callId: string, { carrierSid }: CarrierCallRef, at: number) {
  await gateway.signalMedia(
    callId,
    { kind: 'given_up', at, carrierSid, reason: 'media_failed' },
    `${carrierSid}:given_up`,
  );
}

async function note({ requests, bindings }: OwnFaultDeps, callId: string, told: CarrierCallRef, at: number) {
  if ((await calledRequest(requests, callId, told.mode)) === undefined) return;
  const binding = await bindings.bind(callId, told.carrierSid, told.carrier);
  if (binding.carrierSid === told.carrierSid) await bindings.noteGivenUp(callId, told.carrierSid, new Date(at));
}
