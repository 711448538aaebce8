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
import { createFarEnd } from './far-ends/far-end.js';
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
import type { Plant } from './plant.js';
import type { Scenario } from './scenario.js';

export interface CallPlan {
  source: TwimlSource;
  callbacks: CallbackSubscription | undefined;
  /** Ring timeout of an outbound call. */
  ringSeconds: number;
  detection?: DetectionPlan;
}

/** A call that can still change, with its line. */
export interface LiveCall {
  readonly call: CallRecord;
  readonly line: Line;
  /** Outbound: dials, rings and follows the scenario. */
  place(): void;
  /** Inbound: requests instructions from the customer. */
  arrive(): void;
  /** Ends the call from either side; the final status depends on the current one. */
  hangUp(): void;
  /** Abandons the current instructions and follows others. */
  redirect(source: TwimlSource): void;
  limitTo(seconds: number): void;
  /** Ends everything without callbacks because the carrier is shutting down. */
  abandon(): void;
}

/** Applies the actions of `advanceCall` to the line, the timers and the customer's server. */
export function createLiveCall(call: CallRecord, plan: CallPlan, scenario: Scenario, plant: Plant): LiveCall {
  const { timeScale, webhooks } = plant;
  const course: CallCourse = { ...plan, ring: scenario.ring, timeScale };
  const faults = scenario.callbacks;
  const callbacks = createCallbackSender({ call, subscription: plan.callbacks, faults, webhooks, timeScale });
  const farEnd = createFarEnd(scenario.farEnd, {
    ...plant,
    hangUp: () => happen({ type: 'hungUp' }),
    press: (digit) => line.press(digit),
    note: (step) => addLog(call.script, { at: new Date().toISOString(), ...step }),
    beeped: () => detection?.beeped(),
  });
  const impairment = createImpairment(scenario.stream);
  const line = createLine({ farEnd, ticker: plant.ticker, losesFrame: () => impairment.losesFrame() });
  const runner = createTwimlRunner({
    call,
    webhooks,
    answer: () => happen({ type: 'lineNeeded' }),
    stream: (request, signal) =>
      runMediaStream({ call, line, signal, impairment, faults: scenario.stream, timeScale }, request),
    dial: (request, signal) =>
      dialNumber({ call, line, plant, signal, tellDialAnswered: callbacks.tellDialAnswered }, request),
  });
  const timers = createTimers<CallTimer | DetectionTimer>();
  let document = new AbortController();
  let detection: SimulatedDetection | undefined;

  function happen(event: SimulatedCallEvent): void {
    const [progress, actions] = advanceCall(call, event, course, Date.now());
    Object.assign(call, progress);
    for (const action of actions) perform(action);
  }

  function perform(action: SimulatedCallAction): void {
    switch (action.do) {
      case 'setTimer':
        return timers.set(action.timer, action.ms, () => happen(action.event));
      case 'clearTimers':
        return timers.clear();
      case 'reportStatus':
        return callbacks.fire(action.event);
      case 'reportAnsweredBy':
        return callbacks.tellAnsweredBy(action.target, action.answeredBy, action.ms);
      case 'openLine':
        return line.open();
      case 'detectMachine':
        return detect();
      case 'follow':
        return follow(action.source);
      case 'stop':
        timers.clear();
        document.abort();
        return line.close();
    }
  }

  function detect(): void {
    if (plan.detection === undefined) return;
    detection = detectMachine({
      plan: plan.detection,
      answeredBy: scenario.answeredBy,
      after: timers.set,
      timeScale,
      onResult: (answeredBy, ms) => happen({ type: 'machineDetected', answeredBy, ms }),
    });
  }

  function follow(source: TwimlSource): void {
    document.abort();
    document = new AbortController();
    const { signal } = document;
    runner.run(source, signal).then(
      (outcome) => signal.aborted || happen({ type: 'instructionsEnded', outcome }),
      (error: unknown) => {
        if (signal.aborted) return;
        plant.logger.error({ err: error, callSid: call.sid }, 'the simulated carrier could not carry a call on');
        happen({ type: 'instructionsEnded', outcome: 'broken' });
      },
    );
  }

  return {
    call,
    line,
    place: () => happen({ type: 'placed' }),
    arrive: () => happen({ type: 'arrived' }),
    hangUp: () => happen({ type: 'hungUp' }),
    redirect: (source) => happen({ type: 'redirected', source }),
    limitTo: (seconds) => happen({ type: 'limited', seconds }),
    abandon: () => happen({ type: 'abandoned' }),
  };
}
