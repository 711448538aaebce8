import type { Playback } from './playback.js';

export interface KeyTones {
  /** Plays key tones as an item of the line's own; true once they were heard, false when they were dropped. */
  play(mulaw: Uint8Array): Promise<boolean>;
  /** What playback tells of an item; true when it was one of these, and so none of the engine's. */
  onPlayed(itemId: string, complete: boolean): boolean;
  /** Everything that was queued is gone. */
  dropped(): void;
}

/** Keys that are pressed in the middle of a talk, and whether they got through. */
export function createKeyTones(playback: Pick<Playback, 'enqueue' | 'endItem' | 'pump'>): KeyTones {
  const waiting = new Map<string, (wasHeard: boolean) => void>();
  const own = new Set<string>();

  function settle(itemId: string, wasHeard: boolean): void {
    waiting.get(itemId)?.(wasHeard);
    waiting.delete(itemId);
  }

  return {
    play(mulaw) {
      const itemId = `key-tones-${own.size + 1}`;
      own.add(itemId);
      const heard = new Promise<boolean>((resolve) => waiting.set(itemId, resolve));
      playback.enqueue(itemId, mulaw);
      playback.endItem(itemId);
      playback.pump();
      return heard;
    },

    onPlayed(itemId, complete) {
      if (!own.has(itemId)) return false;
      if (complete) settle(itemId, true);
      return true;
    },

    dropped() {
      for (const itemId of waiting.keys()) settle(itemId, false);
    },
  };
}
