import type { EngineSink } from '../port.js';
import type { UsageMeter } from '../engine-usage.js';
import type { SessionCommand } from '../../session/reducer/commands.js';
import type { SessionHappening } from '../../session/reducer/events.js';
import { fitsAnswer } from '../../session/speech-limits.js';
import type { ProviderError, TextToSpeech } from './ports.js';
import { createSentenceCutter } from './sentences.js';
import { openUtterance, type Utterance } from './utterance.js';

export interface ReplySpeech {
  itemId: string;
  replyId: string;
  held: boolean;
  onMade(): void;
  onFailed(error: ProviderError): void;
  /** The item is over; `heard` contains the words that were played. */
  onClosed: (heard: string, complete: boolean) => void;
}

export type Speech = ReturnType<typeof createSpeech>;

/** The agent's speech in one call: synthesizes items, and sends their audio when the session asks for it. */
export function createSpeech(p: {
  voice: TextToSpeech;
  voiceName: string;
  language: string;
  sink: EngineSink;
  happened(what: SessionHappening): void;
}) {
  const live = new Map<string, { utterance: Utterance; onClosed?: ReplySpeech['onClosed'] }>();
  /** Audio waiting for the session to send it. */
  const waiting = new Map<string, Uint8Array[]>();
  const dropped = new Set<string>();

  function open(itemId: string, voice: TextToSpeech, reply?: ReplySpeech): Utterance {
    const utterance = openUtterance({
      itemId,
      voice,
      voiceName: p.voiceName,
      language: p.language,
      held: reply?.held ?? false,
      aheadMs: () => Array.from(live.values()).reduce((sum, item) => sum + item.utterance.aheadMs(), 0),
      events: {
        onMade: () => reply?.onMade(),
        onAudio(mulaw, ms) {
          waiting.set(itemId, [...(waiting.get(itemId) ?? []), mulaw]);
          const ofReply = reply === undefined ? {} : { replyId: reply.replyId };
          p.happened({ type: 'item_audio', itemId, ms, ...ofReply });
        },
        onWhole: () => p.happened({ type: 'item_whole', itemId }),
        onFailed(error) {
          if (reply === undefined)
            p.happened({ type: 'item_failed', itemId, part: error.part, message: error.message });
          else reply.onFailed(error);
        },
      },
    });
    live.set(itemId, { utterance, ...(reply === undefined ? {} : { onClosed: reply.onClosed }) });
    return utterance;
  }

  function say(itemId: string, sentences: readonly string[], voice: TextToSpeech): void {
    if (dropped.has(itemId)) return;
    const utterance = open(itemId, voice);
    for (const sentence of sentences) utterance.say(sentence);
    utterance.finish();
  }

  return {
    openForReply: (reply: ReplySpeech): Utterance => open(reply.itemId, p.voice, reply),
    /** Says a text of at most two minutes, one sentence at a time, so that unheard sentences need not be paid for. */
    say: (itemId: string, text: string) => say(itemId, sentencesOf(text), p.voice),
    /** Says a text with prepared audio, unless the item was closed meanwhile. */
    sayPrepared: (itemId: string, text: string, mulaw: Uint8Array) => say(itemId, [text], preparedVoice(mulaw)),
    send(itemId: string): void {
      const mulaw = waiting.get(itemId)?.shift();
      if (mulaw !== undefined) p.sink.audio(itemId, mulaw);
    },
    /** Updates the playback of an item; there may be room for more speech now. */
    played(itemId: string, playedMs: number): void {
      live.get(itemId)?.utterance.played(playedMs);
      for (const { utterance } of live.values()) utterance.handOver();
    },
    end: (itemId: string) => p.sink.endOfItem(itemId),
    close({ itemId, playedMs, complete, startMs }: Extract<SessionCommand, { type: 'close_item' }>): void {
      const item = live.get(itemId);
      live.delete(itemId);
      waiting.delete(itemId);
      dropped.add(itemId);
      const text = item?.utterance.close(playedMs, complete) ?? '';
      item?.onClosed?.(text, complete);
      const endMs = startMs + Math.max(1, Math.round(playedMs));
      p.happened({ type: 'item_words', itemId, text, complete, startMs, endMs });
    },
    /** Drops an item that was never on the line. */
    forget(itemId: string): void {
      const item = live.get(itemId);
      live.delete(itemId);
      waiting.delete(itemId);
      item?.utterance.close(0, false);
      item?.onClosed?.('', false);
    },
  };
}

/** The sentences of a text that fit into one reply. */
function sentencesOf(text: string): string[] {
  const cutter = createSentenceCutter();
  const said: string[] = [];
  let characters = 0;
  for (const sentence of [...cutter.push(text), ...cutter.flush()]) {
    if (!fitsAnswer(characters, sentence)) break;
    characters += sentence.length;
    said.push(sentence);
  }
  return said;
}

/** TTS for a single text whose audio exists already. */
function preparedVoice(mulaw: Uint8Array): TextToSpeech {
  return {
    open(_voice, _language, events) {
      return {
        say: () => undefined,
        finish() {
          events.onAudio(mulaw);
          events.onDone();
        },
        cancel: () => undefined,
      };
    },
  };
}

/** Counts the characters sent to TTS. */
export function meteredVoice(voice: TextToSpeech, usage: UsageMeter): TextToSpeech {
  return {
    open(name, language, events) {
      const stream = voice.open(name, language, events);
      return {
        ...stream,
        say(text) {
          usage.add('voice_characters', text.length);
          stream.say(text);
        },
      };
    },
  };
}
