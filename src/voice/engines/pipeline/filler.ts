/** An answer that takes longer is announced. */
const FILLER_AFTER_MS = 1_500;
const TRY_AGAIN_MS = 200;

export type Filler = ReturnType<typeof createFiller>;

/** Tells a caller who waits for an answer that it takes a moment: after a while, or at once, but not into his own words. */
export function createFiller(p: {
  /** Nothing when there is no such line in the call's language. */
  audio(): Promise<Uint8Array | undefined>;
  isNeeded(): boolean;
  callerSpeaks(): boolean;
  say(mulaw: Uint8Array): void;
}) {
  let timer: NodeJS.Timeout | undefined;
  /** Counts what was asked for: audio that comes after the answer must not follow it. */
  let asked = 0;

  async function fill(): Promise<void> {
    if (!p.isNeeded()) return;
    if (p.callerSpeaks()) return fillAfter(TRY_AGAIN_MS);
    const asking = asked;
    const audio = await p.audio();
    if (audio === undefined || asking !== asked || !p.isNeeded()) return;
    if (p.callerSpeaks()) return fillAfter(TRY_AGAIN_MS);
    p.say(audio);
  }

  function fillAfter(ms: number): void {
    stop();
    timer = setTimeout(() => void fill(), ms);
  }

  /** Nobody waits any more, or somebody else has begun to. */
  function stop(): void {
    clearTimeout(timer);
    asked += 1;
  }

  return {
    /** An answer is being made from now on. */
    arm: () => fillAfter(FILLER_AFTER_MS),
    now(): void {
      stop();
      void fill();
    },
    stop,
  };
}
