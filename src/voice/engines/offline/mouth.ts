import { wordsUpTo } from '../../results/words-heard.js';
import type { SessionCommand } from '../../session/reducer/commands.js';
import type { SessionHappening } from '../../session/reducer/events.js';
import type { ReplyTask } from '../../session/reducer/kinds.js';
import type { EngineSink } from '../port.js';

const BYTES_PER_MS = 8;

/** An utterance to speak as one item: the first part plays while the next is synthesized. */
export interface LineToSay {
  itemId: string;
  parts: readonly string[];
  /** Index of the part that starts the question; absent if the utterance asks nothing. */
  questionAt?: number;
  /** Absent for fixed sentences that the session requests by name. */
  reply?: { id: string; task: ReplyTask };
}

/** How much of an utterance was played. */
export interface LineOver {
  task?: ReplyTask;
  playedMs: number;
  /** Milliseconds played of its question; absent if it asked nothing. */
  questionMs?: number;
  complete: boolean;
}

interface Line {
  reply?: LineToSay['reply'];
  /** The text of the audio synthesized so far. */
  text: string;
  /** Audio that waits until the session sends it. */
  waiting: Uint8Array[];
  lengthMs: number;
  playedMs: number;
  /** Start of its question within the audio; `Infinity` until known, absent if it asks nothing. */
  questionFromMs?: number;
}

export type Mouth = ReturnType<typeof createMouth>;

/** The agent's speech: synthesizes utterances, sends audio when the session asks for it, tracks the words played. */
export function createMouth(p: {
  /** @returns 8 kHz mu-law */
  speak: (text: string) => Promise<Uint8Array>;
  sink: Pick<EngineSink, 'audio' | 'endOfItem'>;
  /** Ms from the start of the stream. */
  now: () => number;
  happened: (what: SessionHappening) => void;
  /** Called once per utterance: when it was played, interrupted or canceled. */
  onOver(line: LineOver): void;
}) {
  const { happened, now } = p;
  const lines = new Map<string, Line>();
  const over = new Set<string>();

  function forget(itemId: string): Line | undefined {
    const line = lines.get(itemId);
    lines.delete(itemId);
    over.add(itemId);
    return line;
  }

  async function make(line: Line, { itemId, parts, questionAt, reply }: LineToSay): Promise<void> {
    const startedMs = now();
    for (const [index, text] of parts.entries()) {
      const mulaw = await p.speak(text);
      if (over.has(itemId)) return;
      if (index === questionAt) line.questionFromMs = line.lengthMs;
      const isFirst = line.lengthMs === 0;
      line.text = isFirst ? text : `${line.text} ${text}`;
      line.lengthMs += mulaw.length / BYTES_PER_MS;
      line.waiting.push(mulaw);
      const ms = mulaw.length / BYTES_PER_MS;
      happened({ type: 'item_audio', itemId, ms, ...(reply === undefined ? {} : { replyId: reply.id }) });
      if (isFirst && reply !== undefined) {
        happened({ type: 'reply_heard', replyId: reply.id, times: { startedMs, firstAudioMs: now() } });
      }
    }
    if (parts.length > 0) happened({ type: 'item_whole', itemId });
    if (reply !== undefined) happened({ type: 'reply_done', replyId: reply.id });
  }

  function failed({ itemId, reply }: LineToSay, error: unknown): void {
    if (over.has(itemId)) return;
    const fault = { part: 'voice', message: error instanceof Error ? error.message : String(error) } as const;
    if (reply === undefined) happened({ type: 'item_failed', itemId, ...fault });
    else happened({ type: 'reply_failed', replyId: reply.id, ...fault });
  }

  return {
    /** Resolves once all audio is synthesized, or the utterance was canceled or failed. */
    async say(toSay: LineToSay): Promise<void> {
      const { itemId, questionAt, reply } = toSay;
      if (over.has(itemId)) return;
      const line: Line = {
        text: '',
        waiting: [],
        lengthMs: 0,
        playedMs: 0,
        ...(questionAt === undefined ? {} : { questionFromMs: Infinity }),
        ...(reply === undefined ? {} : { reply }),
      };
      lines.set(itemId, line);
      try {
        await make(line, toSay);
      } catch (error) {
        failed(toSay, error);
      }
    },

    send(itemId: string): void {
      const mulaw = lines.get(itemId)?.waiting.shift();
      if (mulaw !== undefined) p.sink.audio(itemId, mulaw);
    },

    end: (itemId: string) => p.sink.endOfItem(itemId),

    /** Records the playback position; for an item that was cleared it is more exact than the session's. */
    played(itemId: string, playedMs: number): void {
      const line = lines.get(itemId);
      if (line !== undefined) line.playedMs = Math.max(line.playedMs, playedMs);
    },

    close({ itemId, playedMs: known, complete, startMs }: Extract<SessionCommand, { type: 'close_item' }>): void {
      const line = forget(itemId);
      if (line === undefined) return;
      const playedMs = Math.max(known, line.playedMs);
      const text = complete ? line.text : wordsOf(line, playedMs);
      const endMs = startMs + Math.max(1, Math.round(playedMs));
      happened({ type: 'item_words', itemId, text, complete, startMs, endMs });
      p.onOver(overAt(line, playedMs, complete));
    },

    /** Cancels a reply, whether or not its audio exists. */
    cancel(replyId: string): void {
      for (const [itemId, line] of lines) {
        if (line.reply?.id !== replyId) continue;
        forget(itemId);
        p.onOver(overAt(line, 0, false));
      }
    },
  };
}

function overAt({ reply, questionFromMs }: Line, playedMs: number, complete: boolean): LineOver {
  return {
    playedMs,
    complete,
    ...(reply === undefined ? {} : { task: reply.task }),
    ...(questionFromMs === undefined ? {} : { questionMs: Math.max(0, playedMs - questionFromMs) }),
  };
}

function wordsOf({ text, lengthMs }: Line, playedMs: number): string {
  return playedMs === 0 || lengthMs === 0 ? '' : wordsUpTo(text, Math.min(0.999, playedMs / lengthMs));
}
