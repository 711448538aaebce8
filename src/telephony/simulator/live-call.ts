import {
  advanceCall,
  type CallCourse,
  type CallTimer,
  type SimulatedCallAction,
  type SimulatedCallEvent,
} from './call-progress.js';
import { addLog, type CallRecord } from './call-record.js';
import { createTimers } from './timers.js';
import { createCallbackSender, type CallbackSubscription } from './callbacks.js';
import { dialNumber } from './dial.js';
import { createRemoteParty } from './remote-parties/create-remote-party.js';
import type { TwimlSource } from './instructions/source.js';
import { createTwimlRunner } from './instructions/twiml-runner.js';
import { createImpairment } from './media/impairment.js';
import { createLine, type Line } from './media/line.js';
import {
  detectMachine,
  type DetectionPlan,
  type DetectionTimer,
  type SimulatedDetection,
} from './media/machine-detection.js';
import { runMediaStream } from './media/media-stream.js';
import type { CarrierServices } from './carrier-services.js';
import type { Scenario } from './scenario.js';

export interface CallPlan {
  source: TwimlSource;
  callbacks: CallbackSubscription | undefined;
  /** Ring timeout of an outbound call, in seconds. */
  ringSeconds: number;
  detection?: DetectionPlan;
}

/** A call that has not ended, with its audio line. */
export interface LiveCall {
  readonly call: CallRecord;
  readonly line: Line;
  /** Outbound: dials, rings and follows the scenario. */
  placeOutbound(): void;
  /** Inbound: requests instructions from the server of the carrier's customer. */
  startInbound(): void;
  /** Ends the call for either side. The final status depends on the current one. */
  hangUp(): void;
  /** Stops the current instructions and follows others. */
  redirect(source: TwimlSource): void;
  setTimeLimit(seconds: number): void;
  /** Ends everything without callbacks, because the carrier is shutting down. */
  abandon(): void;
}

/** Creates a call that carries out the actions of `advanceCall`: on its line, its timers and the customer's server. */
export function createLiveCall(
  call: CallRecord,
  plan: CallPlan,
  scenario: Scenario,
  services: CarrierServices,
): LiveCall {
  const { timeScale, webhooks, endTurn } = services;
  const course: CallCourse = { ...plan, ring: scenario.ring, timeScale };
  const faults = scenario.callbacks;
  const callbacks = createCallbackSender({ call, subscription: plan.callbacks, faults, webhooks, endTurn, timeScale });
  const remoteParty = createRemoteParty(scenario.remoteParty, {
    ...services,
    hangUp: () => applyEvent({ type: 'hungUp' }),
    pressDigit: (digit) => line.pressDigit(digit),
    recordStep: (step) => addLog(call.script, { at: new Date().toISOString(), ...step }),
    greetingEnded: (how) => detection?.greetingEnded(how),
  });
  const impairment = createImpairment(scenario.stream, timeScale);
  const line = createLine({
    remoteParty,
    ticker: services.ticker,
    recording: services.recordings.start(),
    isFrameLost: () => impairment.isFrameLost(),
  });
  const runner = createTwimlRunner({
    call,
    webhooks,
    answer: () => applyEvent({ type: 'lineNeeded' }),
    stream: (request, signal) =>
      runMediaStream({ call, line, signal, impairment, faults: scenario.stream, timeScale }, request),
    dial: (request, signal) => dialNumber({ call, line, services, signal, faults }, request),
  });
  const timers = createTimers<CallTimer | DetectionTimer>();
  let document = new AbortController();
  let detection: SimulatedDetection | undefined;

  function applyEvent(event: SimulatedCallEvent): void {
    const [progress, actions] = advanceCall(call, event, course, Date.now());
    Object.assign(call, progress);
    for (const action of actions) perform(action);
  }

  function perform(action: SimulatedCallAction): void {
    switch (action.do) {
      case 'setTimer':
        return timers.set(action.timer, action.ms, () => applyEvent(action.event));
      case 'clearTimers':
        return timers.clear();
      case 'reportStatus':
        return callbacks.reportStatus(action.event);
      case 'reportAnsweredBy':
        return callbacks.reportAnsweredBy(action.target, action.answeredBy, action.ms);
      case 'openLine':
        return line.open();
      case 'detectMachine':
        return startDetection();
      case 'follow':
        return followInstructions(action.source);
      case 'stop':
        timers.clear();
        document.abort();
        return line.close();
    }
  }

  function startDetection(): void {
    if (plan.detection === undefined) return;
    detection = detectMachine({
      plan: plan.detection,
      scenario,
      after: timers.set,
      timeScale,
      onResult: (answeredBy, ms) => applyEvent({ type: 'machineDetected', answeredBy, ms }),
    });
  }

  function followInstructions(source: TwimlSource): void {
    document.abort();
    document = new AbortController();
    const { signal } = document;
    runner.run(source, signal).then(
      (outcome) => signal.aborted || applyEvent({ type: 'instructionsEnded', outcome }),
      (error: unknown) => {
        if (signal.aborted) return;
        services.logger.error({ err: error, callSid: call.sid }, 'simulated call failed');
        applyEvent({ type: 'instructionsEnded', outcome: 'broken' });
      },
    );
  }

  return {
    call,
    line,
    placeOutbound: () => applyEvent({ type: 'placed', queuedMs: call.queuedMs }),
    startInbound: () => applyEvent({ type: 'arrived' }),
    hangUp: () => applyEvent({ type: 'hungUp' }),
    redirect: (source) => applyEvent({ type: 'redirected', source }),
    setTimeLimit: (seconds) => applyEvent({ type: 'limited', seconds }),
    abandon: () => applyEvent({ type: 'abandoned' }),
  };
}
