/** Keys pressed with shorter pauses belong together. */
const PAUSE_MS = 1_500;
/** Ends an entry at once. */
const END_KEY = '#';
const MAX_KEYS = 64;

export interface PressedKeys {
  keys: string;
  /** Ms from the start of the stream. */
  startMs: number;
  endMs: number;
}

/** Puts keys together to entries, as people make them. */
export function createKeys(p: { now: () => number; onKeys(entry: PressedKeys): void }) {
  let keys = '';
  let startMs = 0;
  let timer: NodeJS.Timeout | undefined;

  function done(): void {
    clearTimeout(timer);
    const entry = { keys, startMs: Math.round(startMs), endMs: Math.max(Math.round(startMs) + 1, Math.round(p.now())) };
    keys = '';
    p.onKeys(entry);
  }

  return {
    press(key: string): void {
      if (keys === '') startMs = p.now();
      keys += key;
      clearTimeout(timer);
      if (key === END_KEY || keys.length >= MAX_KEYS) done();
      else timer = setTimeout(done, PAUSE_MS);
    },
    /** An entry has begun and not ended. */
    isOpen: () => keys !== '',
    stop: () => clearTimeout(timer),
  };
}
