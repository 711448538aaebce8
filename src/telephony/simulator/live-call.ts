import { addLog, isOver, type CarrierAnsweredBy, type CallRecord, type CarrierCallStatus } from './call-record.js';
import { createCallbackSender, type CallbackSubscription } from './callbacks.js';
import { dialNumber } from './dial.js';
import { createFarEnd } from './far-ends/far-end.js';
import { createImpairment } from './media/impairment.js';
import type { TwimlSource } from './instructions/source.js';
import { createTwimlRunner } from './instructions/twiml-runner.js';
import { createLine, type Line } from './media/line.js';
import { detectMachine, type DetectionPlan, type SimulatedDetection } from './media/machine-detection.js';
import { runMediaStream } from './media/media-stream.js';
import type { Plant } from './plant.js';
import type { Scenario } from './scenario.js';

export interface CallPlan {
  source: TwimlSource;
  callbacks: CallbackSubscription | undefined;
  /** How long an outbound call may ring. */
  ringSeconds: number;
  detection?: DetectionPlan;
}

/** A call while it lives. */
export interface LiveCall {
  readonly call: CallRecord;
  readonly line: Line;
  /** Outbound: dials, rings, and does what the scenario says. */
  place(): void;
  /** Inbound: asks the customer what to do. */
  arrive(): void;
  /** Ends the call from our side or the far end's; the final status follows from where it stands. */
  hangUp(): void;
  /** Drops what the call is doing for other instructions. */
  redirect(source: TwimlSource): void;
  limitTo(seconds: number): void;
  /** Ends everything without telling anybody: the carrier itself is being stopped. */
  abandon(): void;
}

/** The carrier has dialed so long after the request. */
const DIAL_MS = 20;
/** The far end's phone begins to ring so long after. */
const RINGING_MS = 100;

export function createLiveCall(call: CallRecord, plan: CallPlan, scenario: Scenario, plant: Plant): LiveCall {
  const callbacks = createCallbackSender({
    call,
    subscription: plan.callbacks,
    faults: scenario.callbacks,
    webhooks: plant.webhooks,
    timeScale: plant.timeScale,
  });
  const farEnd = createFarEnd(scenario.farEnd, {
    ...plant,
    hangUp,
    press: (digit) => line.press(digit),
    note: (step) => addLog(call.script, { at: new Date().toISOString(), ...step }),
    beeped: () => detection?.beeped(),
  });
  const impairment = createImpairment(scenario.stream);
  const line = createLine({ farEnd, ticker: plant.ticker, losesFrame: () => impairment.losesFrame() });
  const runner = createTwimlRunner({
    call,
    webhooks: plant.webhooks,
    answer,
    stream: (request, signal) =>
      runMediaStream({ call, line, signal, impairment, faults: scenario.stream, timeScale: plant.timeScale }, request),
    dial: (request, signal) =>
      dialNumber({ call, line, plant, signal, tellDialAnswered: callbacks.tellDialAnswered }, request),
  });
  const timers = new Set<NodeJS.Timeout>();
  let document = new AbortController();
  let limit: NodeJS.Timeout | undefined;
  let detection: SimulatedDetection | undefined;

  function after(ms: number, action: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      timers.delete(timer);
      if (!isOver(call)) action();
    }, ms);
    timers.add(timer);
    return timer;
  }

  function move(status: CarrierCallStatus): void {
    call.status = status;
    call.updatedAt = Date.now();
  }

  function ring(): void {
    move('ringing');
    call.startedAt = Date.now();
    callbacks.fire('ringing');
    const { outcome, seconds, sip } = scenario.ring;
    after(plan.ringSeconds * 1_000, () => end('no-answer', 487));
    if (outcome === 'nothing') return;
    after(seconds * 1_000 * plant.timeScale, () => {
      if (outcome === 'answer') pickUp();
      else end(outcome, sip ?? 503);
    });
  }

  function pickUp(): void {
    answer();
    if (plan.detection?.target !== undefined || plan.detection === undefined) follow(plan.source);
    if (plan.detection === undefined || isOver(call)) return;
    detection = detectMachine({
      plan: plan.detection,
      answeredBy: scenario.answeredBy,
      after,
      timeScale: plant.timeScale,
      onResult: tellAnsweredBy,
    });
  }

  function tellAnsweredBy(answeredBy: CarrierAnsweredBy, ms: number): void {
    call.answeredBy = answeredBy;
    const target = plan.detection?.target;
    if (target !== undefined) return callbacks.tellAnsweredBy(target, answeredBy, ms);
    const extra = { AnsweredBy: answeredBy, MachineDetectionDuration: String(ms) };
    follow(plan.source.kind === 'url' ? { ...plan.source, extra } : plan.source);
  }

  function answer(): void {
    if (call.answeredAt !== undefined || isOver(call)) return;
    for (const timer of timers) clearTimeout(timer);
    timers.clear();
    move('in-progress');
    call.answeredAt = Date.now();
    callbacks.fire('answered');
    line.open();
    applyLimit();
  }

  function applyLimit(): void {
    if (call.timeLimitSeconds === undefined || call.answeredAt === undefined || isOver(call)) return;
    clearTimeout(limit);
    if (limit !== undefined) timers.delete(limit);
    const now = Date.now();
    const endAt = Math.max(now, call.answeredAt + call.timeLimitSeconds * 1_000);
    // The end is the limit, not the moment the timer fires: a call never lasts a second longer than allowed.
    limit = after(endAt - now, () => end('completed', 200, endAt));
  }

  /** Carries instructions out; when they are done the carrier hangs up. */
  function follow(source: TwimlSource): void {
    document.abort();
    document = new AbortController();
    const { signal } = document;
    runner.run(source, signal).then(
      (outcome) => {
        if (signal.aborted) return;
        if (call.answeredAt !== undefined) end('completed', 200);
        else end(outcome === 'rejected' ? 'busy' : 'failed', outcome === 'rejected' ? 603 : 503);
      },
      (error: unknown) => {
        if (signal.aborted) return;
        plant.logger.error({ err: error, callSid: call.sid }, 'the simulated carrier could not carry a call on');
        end(call.answeredAt === undefined ? 'failed' : 'completed', 500);
      },
    );
  }

  function end(status: CarrierCallStatus, sipCode: number, at = Date.now()): void {
    if (isOver(call)) return;
    call.endedAt = at;
    call.sipCode = sipCode;
    move(status);
    stopAll();
    callbacks.fire('completed');
  }

  function hangUp(): void {
    if (call.answeredAt !== undefined) end('completed', 200);
    else end('canceled', 487);
  }

  function stopAll(): void {
    for (const timer of timers) clearTimeout(timer);
    timers.clear();
    document.abort();
    line.close();
  }

  return {
    call,
    line,
    place() {
      after(DIAL_MS, () => {
        callbacks.fire('initiated');
        const { outcome, seconds, sip } = scenario.ring;
        const neverRings = (outcome === 'busy' || outcome === 'failed') && seconds === 0;
        after(RINGING_MS, () => (neverRings ? end(outcome, sip ?? 503) : ring()));
      });
    },
    arrive() {
      move('ringing');
      call.startedAt = Date.now();
      follow(plan.source);
    },
    hangUp,
    redirect: follow,
    limitTo(seconds) {
      call.timeLimitSeconds = seconds;
      call.updatedAt = Date.now();
      applyLimit();
    },
    abandon() {
      call.endedAt ??= Date.now();
      stopAll();
    },
  };
}
