import type { CarrierAnsweredBy } from '../call-progress.js';
import type { GreetingEnd } from '../remote-party-script.js';
import type { WebhookTarget } from '../instructions/source.js';
import type { Scenario } from '../scenario.js';

/** The answering machine detection that a create request asks for. */
export interface DetectionPlan {
  /** `answer`: report as soon as the result is known. `messageEnd`: report a machine only when its greeting is over. */
  until: 'answer' | 'messageEnd';
  timeoutSeconds: number;
  /** Where to send the result while the call continues. Without it, the call waits for the detection. */
  target?: WebhookTarget;
}

/** Seconds between the answer and the detection result. */
const DETECTED_AFTER: Record<Scenario['answeredBy'], number> = { human: 2, machine: 4, fax: 4, unknown: 5 };
const RESULT: Record<Scenario['answeredBy'], CarrierAnsweredBy> = {
  human: 'human',
  machine: 'machine_start',
  fax: 'fax',
  unknown: 'unknown',
};

/** Seconds of silence after which a greeting without a tone counts as over. */
const QUIET_SECONDS = 2;

export interface SimulatedDetection {
  /** Call this when the remote party is a machine and its greeting is over. */
  greetingEnded(how: GreetingEnd): void;
}

export type DetectionTimer = 'detected' | 'detectionTimeout';

/**
 * Simulates the detection on an answered call and reports one result.
 * @param deps.after runs an action after a number of ms, unless the call has ended by then
 */
export function detectMachine(deps: {
  plan: DetectionPlan;
  scenario: Pick<Scenario, 'answeredBy' | 'detection'>;
  after(timer: DetectionTimer, ms: number, action: () => void): void;
  timeScale: number;
  onResult(result: CarrierAnsweredBy, ms: number): void;
}): SimulatedDetection {
  const { plan, timeScale } = deps;
  const { answeredBy, detection } = deps.scenario;
  const startedAt = performance.now();
  const waitsForEnd = plan.until === 'messageEnd' && answeredBy === 'machine' && detection.result === undefined;
  let isReported = false;

  function report(result: CarrierAnsweredBy): void {
    if (isReported) return;
    isReported = true;
    deps.onResult(result, Math.round(performance.now() - startedAt));
  }

  function reportAfter(seconds: number, result: CarrierAnsweredBy): void {
    deps.after('detected', seconds * 1_000 * timeScale, () => report(result));
  }

  const { afterSeconds = DETECTED_AFTER[answeredBy], result = RESULT[answeredBy] } = detection;
  if (!waitsForEnd) reportAfter(afterSeconds, result);
  deps.after('detectionTimeout', plan.timeoutSeconds * 1_000, () => report('unknown'));
  return {
    greetingEnded(how) {
      if (!waitsForEnd) return;
      const seconds = detection.afterSeconds ?? (how === 'silence' ? QUIET_SECONDS : 0);
      if (seconds === 0) report(`machine_end_${how}`);
      else reportAfter(seconds, `machine_end_${how}`);
    },
  };
}
