import type { MediaEndReason } from '../../kernel/call-state.js';

/** How long before a forced end the engine is notified, in ms. */
const ENDING_SOON_MS = 20_000;
/** Extra wait for the goodbye's marks, which may be late, in ms. */
const GOODBYE_GRACE_MS = 2_000;

export type SessionEnd = ReturnType<typeof createSessionEnd>;

/** Decides when a conversation ends: after its last utterance, or at a known time that is announced to the engine. */
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

    /** The reason of an end after the last utterance, if decided. */
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
