import { wordsUpTo } from '../../results/played-words.js';
import type { SessionCommand } from '../../session/reducer/commands.js';
import type { SessionEventBody } from '../../session/reducer/events.js';
import type { EngineSink } from '../port.js';
import type { ClientEvent } from './protocol.js';
import type { Purpose } from './responses.js';

const BYTES_PER_MS = 8;

type CloseItem = Extract<SessionCommand, { type: 'close_item' }>;

interface Item {
  /** The provider's ids of the item and its audio; undefined for offline TTS. */
  source?: { itemId: string; contentIndex: number };
  /** Audio waiting for the session to send it. */
  waiting: Uint8Array[];
  sentMs: number;
  text: string;
  /** `isWhole`: no more audio will arrive. `isWorded`: no more words will arrive. */
  isWhole: boolean;
  isWorded: boolean;
  closed?: CloseItem;
}

export type ProviderSpeech = ReturnType<typeof createProviderSpeech>;

/**
 * Manages the agent's speech, which comes from the provider or from offline TTS. Keeps the audio of items until the
 * session asks for it, tracks the words of items, and truncates the provider's items to what was heard.
 */
export function createProviderSpeech(p: {
  sink: EngineSink;
  dispatch: (what: SessionEventBody) => void;
  send(event: ClientEvent): void;
}) {
  const { sink, dispatch } = p;
  const items = createItems();
  /** Our item ids of sentences that the session requested, by the provider's item id. */
  const named = new Map<string, string>();

  const idOf = (providersId: string) => named.get(providersId) ?? providersId;

  function whole(itemId: string, item: Item): void {
    if (item.isWhole) return;
    item.isWhole = true;
    dispatch({ type: 'item_whole', itemId });
  }

  function worded(item: Item): void {
    item.isWorded = true;
    if (item.closed !== undefined) emitWords(item, item.closed);
  }

  function emitWords(item: Item, closed: CloseItem): void {
    items.forget(closed.itemId);
    dispatch(wordsOf(item, closed));
  }

  function audio(itemId: string, mulaw: Uint8Array, replyId?: string): void {
    items.open(itemId)?.waiting.push(mulaw);
    const ofReply = replyId === undefined ? {} : { replyId };
    dispatch({ type: 'item_audio', itemId, ms: mulaw.length / BYTES_PER_MS, ...ofReply });
  }

  return {
    onAudio(purpose: Purpose, part: { item_id: string; content_index: number }, mulaw: Uint8Array): void {
      const isPhrase = purpose.kind === 'phrase';
      if (isPhrase) named.set(part.item_id, purpose.id);
      const itemId = idOf(part.item_id);
      const item = items.open(itemId);
      if (item === undefined) return;
      item.source = { itemId: part.item_id, contentIndex: part.content_index };
      audio(itemId, mulaw, isPhrase ? undefined : purpose.id);
    },

    onWords(purpose: Purpose, providersId: string, words: string): void {
      if (purpose.kind === 'phrase') named.set(providersId, purpose.id);
      const itemId = idOf(providersId);
      // Words may still arrive for an item that has played to its end.
      const item = items.get(itemId) ?? items.open(itemId);
      if (item !== undefined) item.text += words;
    },

    onAudioDone(providersId: string): void {
      const item = items.get(idOf(providersId));
      if (item !== undefined && !named.has(providersId)) whole(providersId, item);
    },

    /** @param text the complete text of the item */
    onAllWords(providersId: string, text: string): void {
      const item = items.get(idOf(providersId));
      if (item === undefined || named.has(providersId)) return;
      item.text = text;
      worded(item);
    },

    /** Completes all items, because their response has ended or the provider is gone. */
    endAllItems(): void {
      for (const [itemId, item] of items.all()) {
        whole(itemId, item);
        worded(item);
        // Forget an item if the session never sent any of its audio.
        if (item.sentMs === 0) items.forget(itemId);
      }
    },

    /** Plays a sentence from offline TTS, unless its item has ended. */
    sayPrepared(itemId: string, text: string, mulaw: Uint8Array): void {
      const item = items.open(itemId);
      if (item === undefined) return;
      item.text = text;
      item.isWorded = true;
      audio(itemId, mulaw);
      whole(itemId, item);
    },

    send(itemId: string): void {
      const item = items.get(itemId);
      const mulaw = item?.waiting.shift();
      if (item === undefined || mulaw === undefined) return;
      item.sentMs += mulaw.length / BYTES_PER_MS;
      sink.sendAudio(itemId, mulaw);
    },

    end: (itemId: string) => sink.endItem(itemId),

    /** Ends an item and reports its words. For an item played to its end, this waits until all words have arrived. */
    close(command: CloseItem): void {
      const { itemId, playedMs, complete } = command;
      const item = items.close(itemId);
      if (item === undefined) return;
      item.closed = command;
      item.waiting = [];
      const truncation = complete ? undefined : truncationOf(item, playedMs);
      if (truncation !== undefined) p.send(truncation);
      if (!complete || item.isWorded) emitWords(item, command);
    },

    /** The words of an item that is still playing, up to the given playback position. */
    wordsUntil(itemId: string, playedMs: number): string {
      const item = items.get(itemId);
      return item === undefined ? '' : textUpTo(item, playedMs);
    },
  };
}

function createItems() {
  const items = new Map<string, Item>();
  /** Closed items; they accept no more audio. */
  const over = new Set<string>();

  return {
    get: (itemId: string) => items.get(itemId),
    all: () => Array.from(items),
    /** @returns the existing or new item, or undefined if the item has ended */
    open(itemId: string): Item | undefined {
      if (over.has(itemId)) return undefined;
      const item = items.get(itemId) ?? { waiting: [], sentMs: 0, text: '', isWhole: false, isWorded: false };
      items.set(itemId, item);
      return item;
    },
    close(itemId: string): Item | undefined {
      over.add(itemId);
      return items.get(itemId);
    },
    forget: (itemId: string) => void items.delete(itemId),
  };
}

function wordsOf(item: Item, { itemId, playedMs, complete, startMs }: CloseItem): SessionEventBody {
  const endMs = startMs + Math.max(1, Math.round(playedMs));
  const text = complete ? item.text.trim() : textUpTo(item, playedMs);
  return { type: 'item_words', itemId, text, complete, startMs, endMs };
}

function truncationOf({ source, sentMs }: Item, playedMs: number): ClientEvent | undefined {
  if (source === undefined || sentMs === 0) return undefined;
  const audio_end_ms = Math.floor(Math.min(playedMs, sentMs));
  return {
    type: 'conversation.item.truncate',
    item_id: source.itemId,
    content_index: source.contentIndex,
    audio_end_ms,
  };
}

function textUpTo({ text, sentMs }: Item, playedMs: number): string {
  if (playedMs === 0 || text.trim() === '') return '';
  return wordsUpTo(text, Math.min(playedMs / Math.max(1, sentMs), 0.999));
}
