import type { CarrierAnsweredBy } from '../call-progress.js';
import type { WebhookTarget } from '../instructions/source.js';
import type { Scenario } from '../scenario.js';

/** What a create request asks of the detection of answering machines. */
export interface DetectionPlan {
  /** `answer`: tells who answered; `messageEnd`: of a machine, only when its greeting is over. */
  until: 'answer' | 'messageEnd';
  timeoutSeconds: number;
  /** Who is told while the call goes on; without it the call waits for the detection. */
  target?: WebhookTarget;
}

/** Seconds from the answer until the carrier is sure. */
const DETECTED_AFTER: Record<Scenario['answeredBy'], number> = { human: 2, machine: 4, unknown: 5 };
const RESULT: Record<Scenario['answeredBy'], CarrierAnsweredBy> = {
  human: 'human',
  machine: 'machine_start',
  unknown: 'unknown',
};

export interface SimulatedDetection {
  /** The far end is a machine, and its greeting is over. */
  beeped(): void;
}

export type DetectionTimer = 'detected' | 'detectionTimeout';

/**
 * Watches an answered call. Tells its result once.
 * @param deps.after runs something so many milliseconds later, unless the call is over then
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
  let told = false;

  function tell(result: CarrierAnsweredBy): void {
    if (told) return;
    told = true;
    deps.onResult(result, Math.round(performance.now() - startedAt));
  }

  const detectedMs = DETECTED_AFTER[answeredBy] * 1_000 * deps.timeScale;
  if (!waitsForBeep) deps.after('detected', detectedMs, () => tell(RESULT[answeredBy]));
  deps.after('detectionTimeout', plan.timeoutSeconds * 1_000, () => tell('unknown'));
  return {
    beeped() {
      if (waitsForBeep) tell('machine_end_beep');
    },
  };
}
