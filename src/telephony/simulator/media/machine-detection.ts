import type { CarrierAnsweredBy } from '../call-progress.js';
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
const DETECTED_AFTER: Record<Scenario['answeredBy'], number> = { human: 2, machine: 4, unknown: 5 };
const RESULT: Record<Scenario['answeredBy'], CarrierAnsweredBy> = {
  human: 'human',
  machine: 'machine_start',
  unknown: 'unknown',
};

export interface SimulatedDetection {
  /** Call this when the remote party is a machine and its greeting is over. */
  beeped(): void;
}

export type DetectionTimer = 'detected' | 'detectionTimeout';

/**
 * Simulates the detection on an answered call and reports one result.
 * @param deps.after runs an action after a number of ms, unless the call has ended by then
 */
export function detectMachine(deps: {
  plan: DetectionPlan;
  answeredBy: Scenario['answeredBy'];
  after(timer: DetectionTimer, ms: number, action: () => void): void;
  timeScale: number;
  onResult(result: CarrierAnsweredBy, ms: number): void;
}): SimulatedDetection {
  const { plan, answeredBy } = deps;
  const startedAt = performance.now();
  const waitsForBeep = plan.until === 'messageEnd' && answeredBy === 'machine';
  let isReported = false;

  function report(result: CarrierAnsweredBy): void {
    if (isReported) return;
    isReported = true;
    deps.onResult(result, Math.round(performance.now() - startedAt));
  }

  const detectedMs = DETECTED_AFTER[answeredBy] * 1_000 * deps.timeScale;
  if (!waitsForBeep) deps.after('detected', detectedMs, () => report(RESULT[answeredBy]));
  deps.after('detectionTimeout', plan.timeoutSeconds * 1_000, () => report('unknown'));
  return {
    beeped() {
      if (waitsForBeep) report('machine_end_beep');
    },
  };
}
