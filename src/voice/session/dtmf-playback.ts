import type { Playback } from './playback.js';

export interface DtmfPlayback {
  /** Plays DTMF tones as a separate item; resolves to true once they were played, false if they were dropped. */
  play(mulaw: Uint8Array): Promise<boolean>;
  /** Handles playback progress. @returns true if the item contains DTMF tones and is therefore not the engine's */
  onPlayed(itemId: string, complete: boolean): boolean;
  /** Call this when all queued audio was dropped. */
  dropped(): void;
}

/** Plays DTMF tones during a conversation and reports whether the remote party received them. */
export function createDtmfPlayback(playback: Pick<Playback, 'enqueue' | 'endItem' | 'pump'>): DtmfPlayback {
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
