import { SESSION_POLICY } from './reducer/policy.js';

export interface SilencePatience {
  /** Mutual silence until the caller is asked whether they are there, ms. */
  promptAfterMs: number;
  /** Silence of the caller until the call is ended, ms. */
  endAfterMs: number;
}

const SILENCE_PATIENCE: SilencePatience = {
  promptAfterMs: SESSION_POLICY.silence.repromptAfterMs,
  endAfterMs: SESSION_POLICY.silence.endAfterMs,
};

const TICK_MS = 200;

export interface SilenceWatch {
  /** Counts from now on. */
  start(): void;
  /** The caller was heard, by voice or by a key: the patience begins anew. */
  callerHeard(): void;
  /**
   * The agent has said its line, or was cut off in it: the caller has all the time from here.
   * Not to be told of the question into the silence, which leaves the silence as long as it is.
   */
  agentDone(): void;
  stop(): void;
}

/**
 * Measures the silence of a call by a clock of its own, the same for every engine: after 10 s the caller is asked once,
 * after 30 s since the last word the call is ended. Nothing is counted while somebody speaks or is about to.
 */
export function watchSilence(deps: {
  patience?: Partial<SilencePatience>;
  /** Somebody speaks, or an answer is being made: read every 200 ms. */
  isBusy: () => boolean;
  /** To ask into the silence; told once in a silence. */
  onPrompt: () => void;
  /** To say goodbye and end the call; told once in a call. */
  onEnd: () => void;
  /** Ms from a clock that never steps. */
  now?: () => number;
}): SilenceWatch {
  const { isBusy, onPrompt, onEnd, now = () => performance.now() } = deps;
  const patience = { ...SILENCE_PATIENCE, ...deps.patience };
  let ticking: NodeJS.Timeout | undefined;
  let quietSinceMs = now();
  let prompted = false;
  let over = false;

  function tick(): void {
    if (over || isBusy()) return;
    const quietMs = now() - quietSinceMs;
    if (quietMs >= patience.endAfterMs) {
      over = true;
      clearInterval(ticking);
      onEnd();
    } else if (quietMs >= patience.promptAfterMs && !prompted) {
      prompted = true;
      onPrompt();
    }
  }

  return {
    start() {
      quietSinceMs = now();
      if (!over) ticking ??= setInterval(tick, TICK_MS);
    },
    callerHeard() {
      quietSinceMs = now();
      prompted = false;
    },
    agentDone() {
      quietSinceMs = now();
    },
    stop() {
      over = true;
      clearInterval(ticking);
    },
  };
}
