import { wordsHeard } from '../../results/words-heard.js';
import { SESSION_POLICY } from '../../session/reducer/policy.js';
import type { EngineSink, TurnLatency } from '../port.js';

const BYTES_PER_MS = 8;

/** A line from the decision to say it until it was heard or cut off. */
export interface SpokenLine {
  itemId: string;
  kind: 'greeting' | 'line' | 'prompt' | 'message';
  text: string;
  startMs: number;
  /** Audio handed to the line; 0 while it is being made. */
  lengthMs: number;
  playedMs: number;
  /** When all of it has been played, if the line plays as it should; not known while parts are being made. */
  endsAtMs?: number;
}

/** When the caller's words that a line answers ended, and what has taken time since. */
export interface Occasion {
  sinceMs: number;
  parts: Record<string, number>;
}

export interface Mouth {
  /** What is being said, or made to be said. */
  saying(): SpokenLine | undefined;
  /** Speaks the parts as one item; nothing when something is being said already. Resolves when all of it is queued. */
  say(parts: readonly string[], kind: SpokenLine['kind'], occasion?: Occasion): Promise<void>;
  /** Stops in the middle: what is not played is dropped. */
  hush(): void;
  onPlayed(itemId: string, playedMs: number, complete: boolean): void;
  /** Every now and then: without marks the talk must not stand still. */
  tick(): void;
  close(): void;
}

/** What the agent says, one item at a time, with account of what was really heard of it. */
export function createMouth(deps: {
  speak(text: string): Promise<Uint8Array>;
  sink: EngineSink;
  now: () => number;
  onFinished(utterance: SpokenLine, complete: boolean): void;
}): Mouth {
  const { sink, now } = deps;
  let saying: SpokenLine | undefined;
  let itemCount = 0;
  let closed = false;

  function finish(complete: boolean): void {
    if (saying === undefined) return;
    const finished = saying;
    saying = undefined;
    if (finished.playedMs > 0) sink.transcript(turnOf(finished, complete));
    deps.onFinished(finished, complete);
  }

  function tellLatency({ sinceMs, parts }: Occasion, voice: number): void {
    const totalMs = now() - sinceMs;
    const known = { ...parts, voice };
    const own = totalMs - Object.values(known).reduce((sum, ms) => sum + ms, 0);
    sink.latency({ atMs: now(), totalMs, parts: { ...known, own } } satisfies TurnLatency);
  }

  return {
    saying: () => saying,

    async say(parts, kind, occasion) {
      if (closed || saying !== undefined || parts.length === 0) return;
      const itemId = `item-${++itemCount}`;
      const mine: SpokenLine = { itemId, kind, text: parts.join(' '), startMs: now(), lengthMs: 0, playedMs: 0 };
      saying = mine;
      let endsAtMs = 0;
      try {
        for (const text of parts) {
          const askedAt = now();
          const mulaw = await deps.speak(text);
          if (closed || saying !== mine) return;
          const isFirst = mine.lengthMs === 0;
          if (isFirst) mine.startMs = now();
          mine.lengthMs += mulaw.length / BYTES_PER_MS;
          // A part that was made late begins late.
          endsAtMs = Math.max(endsAtMs, now()) + mulaw.length / BYTES_PER_MS;
          sink.audio(itemId, mulaw);
          if (isFirst && occasion !== undefined) tellLatency(occasion, mine.startMs - askedAt);
        }
        mine.endsAtMs = endsAtMs;
        sink.endOfItem(itemId);
      } catch (error) {
        if (!closed) sink.fail(error instanceof Error ? error : new Error(String(error)));
      }
    },

    hush() {
      if (saying === undefined) return;
      sink.clear();
      finish(false);
    },

    onPlayed(itemId, playedMs, complete) {
      if (saying?.itemId !== itemId) return;
      saying.playedMs = playedMs;
      if (complete) finish(true);
    },

    tick() {
      if (saying?.endsAtMs !== undefined && now() > saying.endsAtMs + SESSION_POLICY.playback.markGraceMs)
        finish(false);
    },

    close() {
      closed = true;
      finish(false);
    },
  };
}

function turnOf({ text, startMs, playedMs, lengthMs }: SpokenLine, complete: boolean) {
  return {
    speaker: 'agent' as const,
    text: complete ? text : wordsHeard(text, Math.min(0.999, playedMs / lengthMs)),
    startMs: Math.round(startMs),
    endMs: Math.round(startMs + playedMs),
  };
}
