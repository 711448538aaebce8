import { setTimeout as wait } from 'node:timers/promises';
import { isE164 } from '../../kernel/phone-number.js';
import { addLog, type CallRecord, type DialLog } from './call-record.js';
import type { CallbackSender } from './callbacks.js';
import { createRemoteParty } from './remote-parties/create-remote-party.js';
import type { DialVerb } from './instructions/verbs.js';
import type { Line } from './media/line.js';
import type { CarrierServices } from './carrier-services.js';

/**
 * Connects a call to another scripted number until that number hangs up, the time limit is reached, or the call ends.
 * The simulator keeps no record of the other number's call, and logs its seconds with the first call.
 * @param signal aborts the dial when the call is over or was redirected; the promise then rejects with its reason
 */
export async function dialNumber(
  deps: {
    call: CallRecord;
    line: Line;
    services: CarrierServices;
    signal: AbortSignal;
    reportDialAnswered: CallbackSender['reportDialAnswered'];
  },
  request: DialVerb,
): Promise<DialLog> {
  const { call, line, services, signal } = deps;
  const log: DialLog = { to: request.number, at: new Date().toISOString(), status: 'canceled', seconds: 0 };
  addLog(call.dials, log);
  log.status = await ring();
  if (log.status === 'completed') {
    if (request.onAnswer !== undefined) deps.reportDialAnswered(request.onAnswer, request.number);
    await connect();
  }
  return log;

  async function ring(): Promise<DialLog['status']> {
    if (!isE164(request.number)) return 'failed';
    const { outcome, seconds } = services.findScenario(request.number).ring;
    const ringMs = request.ringSeconds * 1_000;
    const answerMs = outcome === 'nothing' ? Infinity : seconds * 1_000 * services.timeScale;
    await wait(Math.min(ringMs, answerMs), undefined, { signal });
    if (outcome === 'nothing' || answerMs > ringMs) return 'no-answer';
    return outcome === 'answer' ? 'completed' : outcome;
  }

  async function connect(): Promise<void> {
    const connectedAt = performance.now();
    const parting = new AbortController();
    const other = createRemoteParty(services.findScenario(request.number).remoteParty, {
      ...services,
      hangUp: () => parting.abort(),
      pressDigit: () => undefined,
      recordStep: () => undefined,
      beepEnded: () => undefined,
    });
    const part = line.bridge(other);
    try {
      await wait(request.limitSeconds * 1_000, undefined, { signal: AbortSignal.any([signal, parting.signal]) });
    } catch (error) {
      // If only `parting` was aborted, the other number hung up, which is a normal end.
      if (!parting.signal.aborted || signal.aborted) throw error;
    } finally {
      part();
      // Do not log more seconds than the time limit, even if the timer fires late.
      log.seconds = Math.min(request.limitSeconds, Math.ceil((performance.now() - connectedAt) / 1_000));
    }
  }
}
