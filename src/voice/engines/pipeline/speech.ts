import type { EngineSink } from '../port.js';
import type { UsageMeter } from '../engine-usage.js';
import type { SessionCommand } from '../../session/reducer/commands.js';
import type { SessionEventBody } from '../../session/reducer/events.js';
import { createSpeechBalance, fitsReply } from '../../session/speech-limits.js';
import { settingsFor, unitOf } from '../chain/pipeline-chains.js';
import type { Provider, ProviderChain } from '../chain/provider-chain.js';
import type { ProviderError, TextToSpeech, TtsOptions } from './ports.js';
import { createSentenceSplitter } from './sentences.js';
import { openUtterance, type Utterance } from './utterance.js';

export interface ReplySpeech {
  itemId: string;
  replyId: string;
  held: boolean;
  onSynthesized(): void;
  onFailed(error: ProviderError): void;
  /** Called when the item has ended, with the words that were played. */
  onClosed: (heard: string, complete: boolean) => void;
}

interface LiveItem {
  utterance: Utterance;
  /** Whether the item is spoken by TTS, which is paid for, and not from prepared audio. */
  isBought: boolean;
  onClosed?: ReplySpeech['onClosed'];
}

export type Speech = ReturnType<typeof createSpeech>;

/** The agent's speech in one call: synthesizes items, and sends their audio when the session asks for it. */
export function createSpeech(p: {
  voices: ProviderChain<TextToSpeech>;
  options: TtsOptions;
  sink: EngineSink;
  dispatch(what: SessionEventBody): void;
  /** Called at each failure of TTS, also if it is tried once more. */
  onFailure(error: ProviderError): void;
}) {
  const live = new Map<string, LiveItem>();
  /** Audio waiting for the session to send it. */
  const waiting = new Map<string, Uint8Array[]>();
  const dropped = new Set<string>();
  const balance = createSpeechBalance();

  function open(itemId: string, voices: ProviderChain<TextToSpeech>, reply?: ReplySpeech): Utterance {
    const isBought = voices === p.voices;
    const utterance = openUtterance({
      itemId,
      voices,
      options: p.options,
      held: reply?.held ?? false,
      // Prepared audio costs nothing, so it is never cut into parts.
      isDiscarding: () => isBought && balance.isNegative(),
      aheadMs: () => Array.from(live.values()).reduce((sum, item) => sum + item.utterance.aheadMs(), 0),
      events: {
        onSynthesized: () => reply?.onSynthesized(),
        onAudio(mulaw, ms) {
          waiting.set(itemId, [...(waiting.get(itemId) ?? []), mulaw]);
          const ofReply = reply === undefined ? {} : { replyId: reply.replyId };
          p.dispatch({ type: 'item_audio', itemId, ms, ...ofReply });
        },
        onComplete: () => p.dispatch({ type: 'item_whole', itemId }),
        onRetry: (error) => p.onFailure(error),
        onFailed(error) {
          p.onFailure(error);
          if (reply === undefined)
            p.dispatch({ type: 'item_failed', itemId, part: error.part, message: error.message });
          else reply.onFailed(error);
        },
      },
    });
    live.set(itemId, { utterance, isBought, ...(reply === undefined ? {} : { onClosed: reply.onClosed }) });
    return utterance;
  }

  /** @returns the words that were heard */
  function stop(item: LiveItem | undefined, playedMs: number, complete: boolean): string {
    if (item === undefined) return '';
    const { utterance, isBought } = item;
    const heard = utterance.close(playedMs, complete);
    if (isBought) balance.add({ bought: utterance.bought(), heard: heard.length });
    return heard;
  }

  function say(itemId: string, sentences: readonly string[], voices: ProviderChain<TextToSpeech>): void {
    if (dropped.has(itemId)) return;
    const utterance = open(itemId, voices);
    for (const sentence of sentences) utterance.say(sentence);
    utterance.finish();
  }

  return {
    openForReply: (reply: ReplySpeech): Utterance => open(reply.itemId, p.voices, reply),
    /** Says a text of at most two minutes. Sends TTS one sentence at a time, to avoid paying for unheard sentences. */
    say: (itemId: string, text: string) => say(itemId, sentencesOf(text), p.voices),
    /** Plays prepared audio of a text, unless the item was closed meanwhile. */
    sayPrepared: (itemId: string, text: string, mulaw: Uint8Array) => say(itemId, [text], createPreparedTts(mulaw)),
    send(itemId: string): void {
      const mulaw = waiting.get(itemId)?.shift();
      if (mulaw !== undefined) p.sink.sendAudio(itemId, mulaw);
    },
    /** Updates how much of an item was played, and sends TTS the sentences that may follow now. */
    played(itemId: string, playedMs: number): void {
      live.get(itemId)?.utterance.played(playedMs);
      for (const { utterance } of live.values()) utterance.sendReady();
    },
    /** The words of an item that were heard so far; empty if the item has ended. */
    heard: (itemId: string, playedMs: number) => live.get(itemId)?.utterance.heard(playedMs) ?? '',
    end: (itemId: string) => p.sink.endItem(itemId),
    /** @returns the words that were heard */
    close({ itemId, playedMs, complete, startMs }: Extract<SessionCommand, { type: 'close_item' }>): string {
      const item = live.get(itemId);
      live.delete(itemId);
      waiting.delete(itemId);
      dropped.add(itemId);
      const text = stop(item, playedMs, complete);
      item?.onClosed?.(text, complete);
      const endMs = startMs + Math.max(1, Math.round(playedMs));
      p.dispatch({ type: 'item_words', itemId, text, complete, startMs, endMs });
      return text;
    },
    /** Drops an item whose audio was never sent to the caller. */
    forget(itemId: string): void {
      const item = live.get(itemId);
      live.delete(itemId);
      waiting.delete(itemId);
      stop(item, 0, false);
      item?.onClosed?.('', false);
    },
  };
}

/** The sentences of a text that fit into one reply. */
function sentencesOf(text: string): string[] {
  const cutter = createSentenceSplitter();
  const said: string[] = [];
  let characters = 0;
  for (const sentence of [...cutter.push(text), ...cutter.flush()]) {
    if (!fitsReply(characters, sentence)) break;
    characters += sentence.length;
    said.push(sentence);
  }
  return said;
}

/** TTS for a single text whose audio exists already. */
function createPreparedTts(mulaw: Uint8Array): ProviderChain<TextToSpeech> {
  const port: TextToSpeech = {
    open(_options, events) {
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
  const provider: Provider<TextToSpeech> = { stage: 'tts', number: 0, name: 'prepared', model: '', port };
  return {
    current: () => provider,
    begin: () => ({ provider: () => provider, failed: () => undefined, succeeded: () => undefined }),
  };
}

/**
 * Wraps TTS so that the characters sent to it are counted.
 * @param port the provider's TTS, or the one of the call
 */
export function meterTts(provider: Provider<TextToSpeech>, port: TextToSpeech, usage: UsageMeter): TextToSpeech {
  const count = (text: string) => usage.add(unitOf('voice_characters', provider), text.length);
  return {
    open(options, events) {
      const stream = port.open(
        { ...options, settings: settingsFor(provider, options.settings) },
        {
          ...events,
          onReconnected(error, again) {
            count(again);
            events.onReconnected?.(error, again);
          },
        },
      );
      return {
        ...stream,
        say(text) {
          count(text);
          stream.say(text);
        },
      };
    },
  };
}
