import { wordsUpTo } from '../../results/words-heard.js';
import type { SessionCommand } from '../../session/reducer/commands.js';
import type { SessionHappening } from '../../session/reducer/events.js';
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
  /** No more audio will arrive; `isWorded`: no more words. */
  isWhole: boolean;
  isWorded: boolean;
  closed?: CloseItem;
}

export type ProviderSpeech = ReturnType<typeof createProviderSpeech>;

/**
 * The agent's speech, from the provider or from offline TTS: keeps the audio of items until the session asks for it,
 * tracks their words, and truncates the provider's items to what was heard.
 */
export function createProviderSpeech(p: {
  sink: EngineSink;
  happened: (what: SessionHappening) => void;
  send(event: ClientEvent): void;
}) {
  const { sink, happened } = p;
  const items = createItems();
  /** Our item ids of sentences that the session requested, by the provider's item id. */
  const named = new Map<string, string>();

  const idOf = (providersId: string) => named.get(providersId) ?? providersId;

  function whole(itemId: string, item: Item): void {
    if (item.isWhole) return;
    item.isWhole = true;
    happened({ type: 'item_whole', itemId });
  }

  function worded(item: Item): void {
    item.isWorded = true;
    if (item.closed !== undefined) tell(item, item.closed);
  }

  function tell(item: Item, closed: CloseItem): void {
    items.forget(closed.itemId);
    happened(wordsOf(item, closed));
  }

  function audio(itemId: string, mulaw: Uint8Array, replyId?: string): void {
    items.open(itemId)?.waiting.push(mulaw);
    const ofReply = replyId === undefined ? {} : { replyId };
    happened({ type: 'item_audio', itemId, ms: mulaw.length / BYTES_PER_MS, ...ofReply });
  }

  return {
    audioCame(purpose: Purpose, part: { item_id: string; content_index: number }, mulaw: Uint8Array): void {
      const isLine = purpose.kind === 'line';
      if (isLine) named.set(part.item_id, purpose.id);
      const itemId = idOf(part.item_id);
      const item = items.open(itemId);
      if (item === undefined) return;
      item.source = { itemId: part.item_id, contentIndex: part.content_index };
      audio(itemId, mulaw, isLine ? undefined : purpose.id);
    },

    wordsCame(purpose: Purpose, providersId: string, words: string): void {
      if (purpose.kind === 'line') named.set(providersId, purpose.id);
      const itemId = idOf(providersId);
      // Words may still arrive for an item that has played to its end.
      const item = items.get(itemId) ?? items.open(itemId);
      if (item !== undefined) item.text += words;
    },

    audioDone(providersId: string): void {
      const item = items.get(idOf(providersId));
      if (item !== undefined && !named.has(providersId)) whole(providersId, item);
    },

    /** @param text the complete text of the item */
    wordsDone(providersId: string, text: string): void {
      const item = items.get(idOf(providersId));
      if (item === undefined || named.has(providersId)) return;
      item.text = text;
      worded(item);
    },

    /** A response is over, or the provider is gone: nothing more follows for its items. */
    allSaid(): void {
      for (const [itemId, item] of items.all()) {
        whole(itemId, item);
        worded(item);
        // The session never sent it.
        if (item.sentMs === 0) items.forget(itemId);
      }
    },

    /** Says a sentence with offline TTS, unless its item is over. */
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
      sink.audio(itemId, mulaw);
    },

    end: (itemId: string) => sink.endOfItem(itemId),

    /** Ends an item. Its words follow; for an item played to its end, once all of them have arrived. */
    close(command: CloseItem): void {
      const { itemId, playedMs, complete } = command;
      const item = items.close(itemId);
      if (item === undefined) return;
      item.closed = command;
      item.waiting = [];
      const truncation = complete ? undefined : truncationOf(item, playedMs);
      if (truncation !== undefined) p.send(truncation);
      if (!complete || item.isWorded) tell(item, command);
    },

    /** The words of an item on the line, as far as it has played. */
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
    /** @returns the existing or new item, or undefined if it is over */
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

function wordsOf(item: Item, { itemId, playedMs, complete, startMs }: CloseItem): SessionHappening {
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
