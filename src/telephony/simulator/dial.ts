import { setTimeout as wait } from 'node:timers/promises';
import { isE164 } from '../../kernel/phone-number.js';
import type { CarrierCallStatus, RecordedEvent } from './call-progress.js';
import { addLog, newCallRecord, type CallRecord, type DialLog } from './call-record.js';
import { createCallbackSender } from './callbacks.js';
import { createRemoteParty } from './remote-parties/create-remote-party.js';
import type { DialVerb } from './instructions/verbs.js';
import type { Line } from './media/line.js';
import type { CarrierServices } from './carrier-services.js';
import type { CallbackFaults } from './scenario.js';

interface DialDeps {
  call: CallRecord;
  line: Line;
  services: CarrierServices;
  signal: AbortSignal;
  faults: CallbackFaults;
}

/**
 * Connects a call to another scripted number until that number hangs up, the time limit is reached, or the call ends.
 * As at Twilio, the number is a separate call (a leg). It names the first call as its parent, is listed, has its own
 * callbacks, and can be hung up. Its seconds are also logged with the first call.
 * @param deps.signal aborts the dial when the call is over or was redirected; the promise then rejects with its reason
 */
export async function dialNumber(deps: DialDeps, request: DialVerb): Promise<DialLog> {
  const log: DialLog = { to: request.number, at: new Date().toISOString(), status: 'canceled', seconds: 0 };
  addLog(deps.call.dials, log);
  if (!isE164(request.number)) return Object.assign(log, { status: 'failed' });
  const hungUp = new AbortController();
  const leg = createLeg(deps, request, () => hungUp.abort());
  log.sid = leg.sid;
  try {
    log.status = await ring(deps, request, hungUp.signal, leg);
    if (log.status === 'completed') {
      leg.advance('in-progress', 'answered');
      await connect(deps, request, hungUp, log);
    }
  } finally {
    // If the first call has ended before the answer, the leg was canceled.
    leg.advance(log.status, 'completed');
  }
  return log;
}

/** Creates the call to the number, and reports its progress. */
function createLeg({ call, line, services, faults }: DialDeps, request: DialVerb, hangUp: () => void) {
  const { account, sid: parentCallSid } = call;
  const from = request.callerId ?? call.from;
  const scenario = services.findScenario(request.number).name;
  const facts = { account, from, to: request.number, direction: 'outbound-dial', scenario, parentCallSid } as const;
  const leg = newCallRecord(facts);
  services.enterLeg(leg, line, hangUp);
  const { webhooks, endTurn, timeScale } = services;
  // A leg may report one event only, so its callbacks are never held back for another order.
  const ordered = { ...faults, order: 'fired' as const };
  const callbacks = createCallbackSender({
    call: leg,
    subscription: request.callbacks,
    faults: ordered,
    webhooks,
    endTurn,
    timeScale,
  });
  callbacks.reportStatus('initiated');
  return {
    sid: leg.sid,
    advance(status: CarrierCallStatus, event: RecordedEvent): void {
      const now = Date.now();
      Object.assign(leg, { status, updatedAt: now });
      if (event === 'ringing') leg.startedAt = now;
      if (event === 'answered') leg.answeredAt = now;
      if (event === 'completed') leg.endedAt = now;
      callbacks.reportStatus(event);
    },
  };
}

async function ring(
  { services, signal }: DialDeps,
  request: DialVerb,
  hungUp: AbortSignal,
  leg: ReturnType<typeof createLeg>,
): Promise<DialLog['status']> {
  const { outcome, seconds } = services.findScenario(request.number).ring;
  const ringMs = request.ringSeconds * 1_000;
  const answerMs = outcome === 'nothing' ? Infinity : seconds * 1_000 * services.timeScale;
  leg.advance('ringing', 'ringing');
  await waitUnlessHungUp(Math.min(ringMs, answerMs), hungUp, signal);
  if (hungUp.aborted) return 'canceled';
  if (outcome === 'nothing' || answerMs > ringMs) return 'no-answer';
  return outcome === 'answer' ? 'completed' : outcome;
}

async function connect(
  { line, services, signal }: DialDeps,
  request: DialVerb,
  hungUp: AbortController,
  log: DialLog,
): Promise<void> {
  const connectedAt = performance.now();
  const other = createRemoteParty(services.findScenario(request.number).remoteParty, {
    ...services,
    hangUp: () => hungUp.abort(),
    pressDigit: () => undefined,
    recordStep: () => undefined,
    greetingEnded: () => undefined,
  });
  const part = line.bridge(other);
  try {
    await waitUnlessHungUp(request.limitSeconds * 1_000, hungUp.signal, signal);
  } finally {
    part();
    // Do not log more seconds than the time limit, even if the timer fires late.
    log.seconds = Math.min(request.limitSeconds, Math.ceil((performance.now() - connectedAt) / 1_000));
  }
}

/** Waits until the time is over or the leg is hung up. Rejects if the first call ends. */
async function waitUnlessHungUp(ms: number, hungUp: AbortSignal, signal: AbortSignal): Promise<void> {
  try {
    await wait(ms, undefined, { signal: AbortSignal.any([signal, hungUp]) });
  } catch (error) {
    // If only the leg was hung up, this is a normal end.
    if (!hungUp.aborted || signal.aborted) throw error;
  }
}
