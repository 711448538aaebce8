import type { MediaEndReason } from '../../kernel/call-state.js';

/** An end that is forced is told to the engine this long before. */
const ENDING_SOON_MS = 20_000;
/** A goodbye is waited for this much longer than it lasts; marks may be late. */
const GOODBYE_GRACE_MS = 2_000;

export type Leaving = ReturnType<typeof createLeaving>;

/** How a talk comes to its end: after its last word, or at a known time, which the engine is told before. */
export function createLeaving(p: {
  /** Ms from the start of the stream. */
  now: () => number;
  /** Ms until what is queued has been heard. */
  remainingMs: () => number;
  onEndingSoon: (secondsLeft: number) => void;
}) {
  const { now } = p;
  let goodbye: { reason: MediaEndReason; giveUpAtMs: number } | undefined;
  let endsAtMs: number | undefined;
  let toldOfEnd = false;

  return {
    /** Ends the talk for this reason when what is queued was heard; the first reason counts. */
    afterLastWord(reason: MediaEndReason): void {
      goodbye ??= { reason, giveUpAtMs: now() + p.remainingMs() + GOODBYE_GRACE_MS };
    },

    /** Why the talk ends after its last word, where that is decided. */
    reason: () => goodbye?.reason,

    /** @param isIdle whether everything was heard @returns why the talk ends now */
    dueReason: (isIdle: boolean) =>
      goodbye !== undefined && (isIdle || now() > goodbye.giveUpAtMs) ? goodbye.reason : undefined,

    /** @param atMs when the call will be ended; undefined: that is not known any more */
    endsAt(atMs: number | undefined): void {
      endsAtMs = atMs;
    },

    tellOfEnd(): void {
      if (toldOfEnd || goodbye !== undefined || endsAtMs === undefined) return;
      const leftMs = endsAtMs - now();
      if (leftMs > ENDING_SOON_MS) return;
      toldOfEnd = true;
      if (leftMs > 0) p.onEndingSoon(Math.round(leftMs / 1_000));
    },
  };
}
