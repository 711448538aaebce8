import { wordsUpTo } from '../../results/words-heard.js';
import type { SessionCommand } from '../../session/reducer/commands.js';
import type { SessionHappening } from '../../session/reducer/events.js';
import type { EngineSink } from '../port.js';
import type { ClientEvent } from './protocol.js';
import type { Purpose } from './responses.js';

const BYTES_PER_MS = 8;

type CloseItem = Extract<SessionCommand, { type: 'close_item' }>;

interface Item {
  /** The provider's own name of it, and of its audio; undefined for offline speech. */
  source?: { itemId: string; contentIndex: number };
  /** Audio that waits for the session to send it. */
  waiting: Uint8Array[];
  sentMs: number;
  text: string;
  /** No more audio will come; no more words. */
  isWhole: boolean;
  isWorded: boolean;
  closed?: CloseItem;
}

export type ProviderSpeech = ReturnType<typeof createProviderSpeech>;

/**
 * What the agent says, by the provider or by offline speech: keeps the audio of items until the session asks for it, knows
 * their words, and lets the provider forget what nobody heard.
 */
export function createProviderSpeech(p: {
  sink: EngineSink;
  happened: (what: SessionHappening) => void;
  send(event: ClientEvent): void;
}) {
  const { sink, happened } = p;
  const items = createItems();
  /** Items that the session named, by the provider's name of them. */
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
      // One that was heard to its end may still get words.
      const item = items.get(itemId) ?? items.open(itemId);
      if (item !== undefined) item.text += words;
    },

    audioDone(providersId: string): void {
      const item = items.get(idOf(providersId));
      if (item !== undefined && !named.has(providersId)) whole(providersId, item);
    },

    /** @param text all words of the item anew */
    wordsDone(providersId: string, text: string): void {
      const item = items.get(idOf(providersId));
      if (item === undefined || named.has(providersId)) return;
      item.text = text;
      worded(item);
    },

    /** A response is over, or the provider gone: what it has said so far is all there is. */
    allSaid(): void {
      for (const [itemId, item] of items.all()) {
        whole(itemId, item);
        worded(item);
        // The session had no use for it.
        if (item.sentMs === 0) items.forget(itemId);
      }
    },

    /** Says a line by offline speech, unless its item is over. */
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

    /** The item is over. Its words follow: those of an item heard to its end when all have come. */
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

    /** The words of an item that is on the line, as far as it was heard. */
    wordsUntil(itemId: string, playedMs: number): string {
      const item = items.get(itemId);
      return item === undefined ? '' : textUpTo(item, playedMs);
    },
  };
}

function createItems() {
  const items = new Map<string, Item>();
  /** Of these nothing more is said. */
  const over = new Set<string>();

  return {
    get: (itemId: string) => items.get(itemId),
    all: () => Array.from(items),
    /** @returns the item, known or new, or undefined when it is over */
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
