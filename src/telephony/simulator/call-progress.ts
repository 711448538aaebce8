import type { TwimlEnd, TwimlSource, WebhookTarget } from './instructions/source.js';

export type CarrierCallStatus =
  | 'queued'
  | 'ringing'
  | 'in-progress'
  | 'completed'
  | 'busy'
  | 'failed'
  | 'no-answer'
  | 'canceled';

/** The events that status callbacks report, in their order. */
export const CALL_EVENTS = ['initiated', 'ringing', 'answered', 'completed'] as const;
export type RecordedEvent = (typeof CALL_EVENTS)[number];

/** Results of answering machine detection. */
export const ANSWERED_BY = [
  'human',
  'machine_start',
  'machine_end_beep',
  'machine_end_silence',
  'machine_end_other',
  'fax',
  'unknown',
] as const;
export type CarrierAnsweredBy = (typeof ANSWERED_BY)[number];

/** The part of a call's record that changes during the call. Times in ms since the epoch. */
export interface CallProgress {
  status: CarrierCallStatus;
  updatedAt: number;
  /** When the call began to ring. */
  startedAt?: number;
  answeredAt?: number;
  endedAt?: number;
  sipCode?: number;
  timeLimitSeconds?: number;
  answeredBy?: CarrierAnsweredBy;
}

/** How a call will go, decided before it begins. */
export interface CallCourse {
  source: TwimlSource;
  /** Ring timeout of an outbound call, in seconds. */
  ringSeconds: number;
  /** The callee's reaction, and its delay in seconds after the first ring. */
  ring: { outcome: 'answer' | 'busy' | 'failed' | 'nothing'; seconds: number; sip?: number | undefined };
  /** Factor for the waiting times in scripts. */
  timeScale: number;
  /** Without a `target`, the call's instructions start only after the detection result. */
  detection?: { target?: WebhookTarget };
}

export type SimulatedCallEvent =
  /** @param queuedMs how long the call waits in the queue */
  | { type: 'placed'; queuedMs?: number }
  | { type: 'arrived' }
  | { type: 'dialed' }
  | { type: 'connected' }
  | { type: 'calleeActed' }
  | { type: 'ringTimedOut' }
  /** The next verb needs an answered call. */
  | { type: 'lineNeeded' }
  /** @param ms duration of the detection */
  | { type: 'machineDetected'; answeredBy: CarrierAnsweredBy; ms: number }
  | { type: 'instructionsEnded'; outcome: TwimlEnd | 'broken' }
  | { type: 'redirected'; source: TwimlSource }
  | { type: 'limited'; seconds: number }
  | { type: 'limitReached'; at: number }
  /** The carrier's customer or the callee hung up. */
  | { type: 'hungUp' }
  /** The carrier itself is shutting down. */
  | { type: 'abandoned' };

export type SimulatedCallAction =
  /** Replaces an existing timer of the same name. */
  | { do: 'setTimer'; timer: CallTimer; ms: number; event: SimulatedCallEvent }
  | { do: 'clearTimers' }
  | { do: 'reportStatus'; event: RecordedEvent }
  | { do: 'reportAnsweredBy'; target: WebhookTarget; answeredBy: CarrierAnsweredBy; ms: number }
  | { do: 'openLine' }
  | { do: 'detectMachine' }
  /** Stops the current instructions and follows new ones. */
  | { do: 'follow'; source: TwimlSource }
  /** Stops all timers, the instructions and the audio line. */
  | { do: 'stop' };

export type CallTimer = 'dialing' | 'connecting' | 'callee' | 'ringTimeout' | 'limit';

type Outcome = [CallProgress, SimulatedCallAction[]];

/** Delay in ms between the create request and dialing. */
const DIAL_MS = 20;
/** Delay in ms between dialing and ringing. */
const CONNECT_MS = 100;

export function isOver({ endedAt }: Pick<CallProgress, 'endedAt'>): boolean {
  return endedAt !== undefined;
}

/**
 * Applies an event to a call.
 * @param now ms since the epoch
 * @returns the call's new state and the actions that the carrier then takes, in order
 */
export function advanceCall(call: CallProgress, event: SimulatedCallEvent, course: CallCourse, now: number): Outcome {
  switch (event.type) {
    case 'placed':
      return [
        call,
        [{ do: 'setTimer', timer: 'dialing', ms: DIAL_MS + (event.queuedMs ?? 0), event: { type: 'dialed' } }],
      ];
    case 'arrived':
      return [ringing(call, now), [{ do: 'follow', source: course.source }]];
    case 'dialed':
      return dial(call);
    case 'connected':
      return connect(call, course, now);
    case 'calleeActed':
      return act(call, course, now);
    case 'ringTimedOut':
      return end(call, 'no-answer', 487, now);
    case 'lineNeeded':
      return answer(call, now);
    case 'machineDetected':
      return applyDetection(call, event, course);
    case 'instructionsEnded':
      return endInstructions(call, event.outcome, now);
    case 'redirected':
      return [call, [{ do: 'follow', source: event.source }]];
    case 'limited': {
      const limited = { ...call, timeLimitSeconds: event.seconds, updatedAt: now };
      return [limited, limitTimer(limited, now)];
    }
    case 'limitReached':
      return end(call, 'completed', 200, now, event.at);
    case 'hungUp':
      return call.answeredAt === undefined ? end(call, 'canceled', 487, now) : end(call, 'completed', 200, now);
    case 'abandoned':
      return [{ ...call, endedAt: call.endedAt ?? now }, [{ do: 'stop' }]];
  }
}

function ringing(call: CallProgress, now: number): CallProgress {
  return { ...call, status: 'ringing', updatedAt: now, startedAt: now };
}

function dial(call: CallProgress): Outcome {
  const connected: SimulatedCallAction = {
    do: 'setTimer',
    timer: 'connecting',
    ms: CONNECT_MS,
    event: { type: 'connected' },
  };
  return [call, [{ do: 'reportStatus', event: 'initiated' }, connected]];
}

function connect(call: CallProgress, course: CallCourse, now: number): Outcome {
  const { outcome, seconds } = course.ring;
  const neverRings = (outcome === 'busy' || outcome === 'failed') && seconds === 0;
  if (neverRings) return act(call, course, now);
  const ringMs = course.ringSeconds * 1_000;
  const actions: SimulatedCallAction[] = [
    { do: 'reportStatus', event: 'ringing' },
    { do: 'setTimer', timer: 'ringTimeout', ms: ringMs, event: { type: 'ringTimedOut' } },
  ];
  if (outcome !== 'nothing') {
    const ms = seconds * 1_000 * course.timeScale;
    actions.push({ do: 'setTimer', timer: 'callee', ms, event: { type: 'calleeActed' } });
  }
  return [ringing(call, now), actions];
}

function act(call: CallProgress, course: CallCourse, now: number): Outcome {
  const { ring, detection, source } = course;
  if (ring.outcome === 'nothing') return [call, []];
  if (ring.outcome !== 'answer') return end(call, ring.outcome, ring.sip ?? 503, now);
  const [answered, actions] = answer(call, now);
  if (detection === undefined || detection.target !== undefined) actions.push({ do: 'follow', source });
  if (detection !== undefined) actions.push({ do: 'detectMachine' });
  return [answered, actions];
}

function answer(call: CallProgress, now: number): Outcome {
  if (call.answeredAt !== undefined || isOver(call)) return [call, []];
  const answered: CallProgress = { ...call, status: 'in-progress', updatedAt: now, answeredAt: now };
  const actions: SimulatedCallAction[] = [
    { do: 'clearTimers' },
    { do: 'reportStatus', event: 'answered' },
    { do: 'openLine' },
  ];
  return [answered, [...actions, ...limitTimer(answered, now)]];
}

function limitTimer(call: CallProgress, now: number): SimulatedCallAction[] {
  if (call.timeLimitSeconds === undefined || call.answeredAt === undefined || isOver(call)) return [];
  // Use the time limit as the end even if the timer fires late, because no call may be longer than its limit.
  const at = Math.max(now, call.answeredAt + call.timeLimitSeconds * 1_000);
  return [{ do: 'setTimer', timer: 'limit', ms: at - now, event: { type: 'limitReached', at } }];
}

function applyDetection(
  call: CallProgress,
  { answeredBy, ms }: Extract<SimulatedCallEvent, { type: 'machineDetected' }>,
  { detection, source }: CallCourse,
): Outcome {
  const detected = { ...call, answeredBy };
  const target = detection?.target;
  if (target !== undefined) return [detected, [{ do: 'reportAnsweredBy', target, answeredBy, ms }]];
  const extra = { AnsweredBy: answeredBy, MachineDetectionDuration: String(ms) };
  return [detected, [{ do: 'follow', source: source.kind === 'url' ? { ...source, extra } : source }]];
}

/** The carrier hangs up when the instructions have ended. */
function endInstructions(call: CallProgress, outcome: TwimlEnd | 'broken', now: number): Outcome {
  const isAnswered = call.answeredAt !== undefined;
  if (outcome === 'broken') return end(call, isAnswered ? 'completed' : 'failed', 500, now);
  if (isAnswered) return end(call, 'completed', 200, now);
  return outcome === 'rejected' ? end(call, 'busy', 603, now) : end(call, 'failed', 503, now);
}

function end(call: CallProgress, status: CarrierCallStatus, sipCode: number, now: number, endedAt = now): Outcome {
  if (isOver(call)) return [call, []];
  const ended = { ...call, status, sipCode, updatedAt: now, endedAt };
  return [ended, [{ do: 'stop' }, { do: 'reportStatus', event: 'completed' }]];
}
