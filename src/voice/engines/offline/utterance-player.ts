import { wordsUpTo } from '../../results/played-words.js';
import type { SessionCommand } from '../../session/reducer/commands.js';
import type { SessionEventBody } from '../../session/reducer/events.js';
import type { ReplyTask } from '../../session/reducer/kinds.js';
import type { EngineSink } from '../port.js';

const BYTES_PER_MS = 8;

/** An utterance to speak as one item. Its first part plays while the next one is synthesized. */
export interface UtteranceRequest {
  itemId: string;
  parts: readonly string[];
  /** Index of the part that starts the question; absent if the utterance asks nothing. */
  questionAt?: number;
  /** Absent for fixed sentences that the session requests by name. */
  reply?: { id: string; task: ReplyTask };
}

/** How much of an utterance was played. */
export interface UtteranceOutcome {
  task?: ReplyTask;
  playedMs: number;
  /** How much of the utterance's question was played, in ms; absent if it asked nothing. */
  questionMs?: number;
  complete: boolean;
}

interface Utterance {
  reply?: UtteranceRequest['reply'];
  /** The text of the audio synthesized so far. */
  text: string;
  /** Audio that waits until the session sends it. */
  waiting: Uint8Array[];
  lengthMs: number;
  playedMs: number;
  /** Start of the question within the audio, in ms; `Infinity` until known, absent without a question. */
  questionFromMs?: number;
}

export type UtterancePlayer = ReturnType<typeof createUtterancePlayer>;

/** Synthesizes the agent's utterances, sends audio when the session asks for it, and tracks the words played. */
export function createUtterancePlayer(p: {
  /** @returns 8 kHz mu-law */
  speak: (text: string) => Promise<Uint8Array>;
  sink: Pick<EngineSink, 'sendAudio' | 'endItem'>;
  /** Time in ms since the start of the stream. */
  now: () => number;
  dispatch: (what: SessionEventBody) => void;
  /** Called once per utterance: when it was played, interrupted or canceled. */
  onEnd(utterance: UtteranceOutcome): void;
}) {
  const { dispatch, now } = p;
  const utterances = new Map<string, Utterance>();
  const closed = new Set<string>();

  function closeUtterance(itemId: string): Utterance | undefined {
    const utterance = utterances.get(itemId);
    utterances.delete(itemId);
    closed.add(itemId);
    return utterance;
  }

  async function synthesize(
    utterance: Utterance,
    { itemId, parts, questionAt, reply }: UtteranceRequest,
  ): Promise<void> {
    const startedMs = now();
    for (const [index, text] of parts.entries()) {
      const mulaw = await p.speak(text);
      if (closed.has(itemId)) return;
      if (index === questionAt) utterance.questionFromMs = utterance.lengthMs;
      const isFirst = utterance.lengthMs === 0;
      utterance.text = isFirst ? text : `${utterance.text} ${text}`;
      utterance.lengthMs += mulaw.length / BYTES_PER_MS;
      utterance.waiting.push(mulaw);
      const ms = mulaw.length / BYTES_PER_MS;
      dispatch({ type: 'item_audio', itemId, ms, ...(reply === undefined ? {} : { replyId: reply.id }) });
      if (isFirst && reply !== undefined) {
        dispatch({ type: 'reply_heard', replyId: reply.id, times: { startedMs, firstAudioMs: now() } });
      }
    }
    if (parts.length > 0) dispatch({ type: 'item_whole', itemId });
    if (reply !== undefined) dispatch({ type: 'reply_done', replyId: reply.id });
  }

  function reportFailure({ itemId, reply }: UtteranceRequest, error: unknown): void {
    if (closed.has(itemId)) return;
    const fault = { part: 'voice', message: error instanceof Error ? error.message : String(error) } as const;
    if (reply === undefined) dispatch({ type: 'item_failed', itemId, ...fault });
    else dispatch({ type: 'reply_failed', replyId: reply.id, ...fault });
  }

  return {
    /** Resolves once all audio is synthesized, or the utterance was canceled or failed. */
    async say(request: UtteranceRequest): Promise<void> {
      const { itemId, questionAt, reply } = request;
      if (closed.has(itemId)) return;
      const utterance: Utterance = {
        text: '',
        waiting: [],
        lengthMs: 0,
        playedMs: 0,
        ...(questionAt === undefined ? {} : { questionFromMs: Infinity }),
        ...(reply === undefined ? {} : { reply }),
      };
      utterances.set(itemId, utterance);
      try {
        await synthesize(utterance, request);
      } catch (error) {
        reportFailure(request, error);
      }
    },

    send(itemId: string): void {
      const mulaw = utterances.get(itemId)?.waiting.shift();
      if (mulaw !== undefined) p.sink.sendAudio(itemId, mulaw);
    },

    end: (itemId: string) => p.sink.endItem(itemId),

    /** Records the playback position. For a cleared item this position is more exact than the session's. */
    played(itemId: string, playedMs: number): void {
      const utterance = utterances.get(itemId);
      if (utterance !== undefined) utterance.playedMs = Math.max(utterance.playedMs, playedMs);
    },

    /** The words of an utterance that were heard so far; empty if it has ended. */
    heard(itemId: string): string {
      const utterance = utterances.get(itemId);
      return utterance === undefined ? '' : wordsOf(utterance, utterance.playedMs);
    },

    close({ itemId, playedMs: known, complete, startMs }: Extract<SessionCommand, { type: 'close_item' }>): void {
      const utterance = closeUtterance(itemId);
      if (utterance === undefined) return;
      const playedMs = Math.max(known, utterance.playedMs);
      const text = complete ? utterance.text : wordsOf(utterance, playedMs);
      const endMs = startMs + Math.max(1, Math.round(playedMs));
      dispatch({ type: 'item_words', itemId, text, complete, startMs, endMs });
      p.onEnd(outcomeAt(utterance, playedMs, complete));
    },

    /** Cancels a reply, whether or not any audio of it was synthesized. */
    cancel(replyId: string): void {
      for (const [itemId, utterance] of utterances) {
        if (utterance.reply?.id !== replyId) continue;
        closeUtterance(itemId);
        p.onEnd(outcomeAt(utterance, 0, false));
      }
    },
  };
}

function outcomeAt({ reply, questionFromMs }: Utterance, playedMs: number, complete: boolean): UtteranceOutcome {
  return {
    playedMs,
    complete,
    ...(reply === undefined ? {} : { task: reply.task }),
    ...(questionFromMs === undefined ? {} : { questionMs: Math.max(0, playedMs - questionFromMs) }),
  };
}

function wordsOf({ text, lengthMs }: Utterance, playedMs: number): string {
  return playedMs === 0 || lengthMs === 0 ? '' : wordsUpTo(text, Math.min(0.999, playedMs / lengthMs));
}
