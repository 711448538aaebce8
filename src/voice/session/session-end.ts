import type { MediaEndReason } from '../../kernel/call-state.js';

/** The engine is notified this many ms before the balance or the duration limit ends the call. */
const ENDING_SOON_MS = 20_000;
/** How much longer than its audio the agent's goodbye may take, in ms, because the carrier's marks may be late. */
const GOODBYE_GRACE_MS = 2_000;

export type SessionEnd = ReturnType<typeof createSessionEnd>;

/**
 * Decides when a conversation ends: after the agent's last utterance. Also tells the engine when the balance or the
 * duration limit will end the call.
 */
export function createSessionEnd(p: {
  /** Time in ms since the start of the stream. */
  now: () => number;
  /** Time in ms until the queued audio has been played. */
  remainingMs: () => number;
  onEndingSoon: (secondsLeft: number) => void;
}) {
  const { now } = p;
  let goodbye: { reason: MediaEndReason; giveUpAtMs: number } | undefined;
  let endsAtMs: number | undefined;
  let isAnnounced = false;

  return {
    /** Ends the conversation for this reason once the queued audio has played; the first reason counts. */
    endAfterPlayback(reason: MediaEndReason): void {
      goodbye ??= { reason, giveUpAtMs: now() + p.remainingMs() + GOODBYE_GRACE_MS };
    },

    /** The reason for which the call ends after the agent's last utterance; undefined if no end is decided. */
    reason: () => goodbye?.reason,

    /** @param isIdle whether all audio was played @returns the reason to end the conversation now, if any */
    dueReason: (isIdle: boolean) =>
      goodbye !== undefined && (isIdle || now() > goodbye.giveUpAtMs) ? goodbye.reason : undefined,

    /** @param atMs when the call will be ended, in ms from the start of the stream; undefined: no longer known */
    endsAt(atMs: number | undefined): void {
      endsAtMs = atMs;
    },

    announceEnd(): void {
      if (isAnnounced || goodbye !== undefined || endsAtMs === undefined) return;
      const leftMs = endsAtMs - now();
      if (leftMs > ENDING_SOON_MS) return;
      isAnnounced = true;
      if (leftMs > 0) p.onEndingSoon(Math.round(leftMs / 1_000));
    },
  };
}
