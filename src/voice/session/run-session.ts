import type { AnsweredBy } from '../../kernel/call-state.js';
import type { SessionCommand } from './reducer/commands.js';
import type { SessionEvent, SessionEventBody } from './reducer/events.js';
import { reduceSession } from './reducer/reduce.js';
import type { SessionTimer } from './reducer/kinds.js';
import { newSession, type SessionSetup } from './reducer/state.js';

export type RunningSession = ReturnType<typeof runSession>;

/** Longer delays make a timer of Node.js fire at once. No call lasts as long. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/**
 * Runs one session: passes events to the reducer in order, performs its commands, and runs its timers. Events caused by
 * a command are processed after the commands of the same step.
 */
export function runSession(deps: {
  setup: SessionSetup;
  /** Time in ms since the start of the stream, on a monotonic clock. */
  now: () => number;
  perform(command: Exclude<SessionCommand, { type: 'start_timer' | 'stop_timer' }>): void;
  /** Called with every event before it is reduced. */
  record?(event: SessionEvent): void;
}) {
  const timers = new Map<SessionTimer, NodeJS.Timeout>();
  const events: SessionEvent[] = [];
  let state = newSession(deps.setup);
  let isWorking = false;

  function dispatch(what: SessionEventBody, atMs = deps.now()): void {
    events.push({ ...what, atMs });
    if (isWorking) return;
    isWorking = true;
    try {
      for (let event = events.shift(); event !== undefined; event = events.shift()) reduce(event);
    } finally {
      isWorking = false;
    }
  }

  function reduce(event: SessionEvent): void {
    deps.record?.(event);
    const [next, commands] = reduceSession(state, event);
    state = next;
    for (const command of commands) perform(command);
  }

  function perform(command: SessionCommand): void {
    if (command.type === 'stop_timer') stopTimer(command.timer);
    else if (command.type === 'start_timer') startTimer(command.timer, command.dueMs);
    else deps.perform(command);
  }

  function startTimer(timer: SessionTimer, dueMs: number): void {
    stopTimer(timer);
    const fire = () => {
      timers.delete(timer);
      // Timers may fire slightly early.
      dispatch({ type: 'timer', timer }, Math.max(dueMs, deps.now()));
    };
    timers.set(timer, setTimeout(fire, Math.min(Math.max(0, dueMs - deps.now()), MAX_DELAY_MS)));
  }

  function stopTimer(timer: SessionTimer): void {
    clearTimeout(timers.get(timer));
    timers.delete(timer);
  }

  return {
    dispatch: (what: SessionEventBody) => dispatch(what),
    state: () => state,
    /** Reports the carrier's answering machine detection. @returns whether the session accepts the result */
    onAnsweredBy: (who: AnsweredBy): boolean => {
      dispatch({ type: 'answered_by', who });
      return state.voicemail.carrierResult === who;
    },
  };
}
