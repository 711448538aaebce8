import type { TranscriptTurn } from '../port.js';
import { SESSION_POLICY } from '../../session/reducer/policy.js';
import { wordsHeard } from '../../results/words-heard.js';

const BYTES_PER_MS = 8;

/** What of the agent's speech a line is for. */
export type SpokenKind = 'greeting' | 'reply' | 'prompt' | 'local';

export interface SpokenItem {
  readonly id: string;
  readonly kind: SpokenKind;
  /** The provider's index of the audio in the item. */
  contentIndex: number;
  /** Audio that was handed to the line, ms. */
  producedMs: number;
  playedMs: number;
  text: string;
}

interface Entry extends SpokenItem {
  startMs: number;
  /** When it will have been played if all goes well. */
  expectedEndMs: number;
  /** All audio has come. */
  complete: boolean;
  /** All of it was heard. */
  heard: boolean;
  /** No more words will come. */
  worded: boolean;
}

/**
 * Keeps account of what the agent says: audio produced and heard, words, times. An item becomes a turn of the transcript
 * when it was heard to its end or was cut off, with the words that were heard.
 */
export function createSpokenItems(deps: {
  now: () => number;
  onTurn: (turn: TranscriptTurn) => void;
  /** An item is over; `complete` when it was heard to its end. */
  onOver: (item: SpokenItem, complete: boolean) => void;
}) {
  const { now, onTurn, onOver } = deps;
  const items = new Map<string, Entry>();
  const over = new Set<string>();
  let lastEndMs = 0;

  function itemOf(id: string, kind: SpokenKind): Entry | undefined {
    if (over.has(id)) return undefined;
    const known = items.get(id);
    if (known !== undefined) return known;
    const item = {
      id,
      kind,
      contentIndex: 0,
      producedMs: 0,
      playedMs: 0,
      text: '',
      startMs: now(),
      expectedEndMs: 0,
      complete: false,
      heard: false,
      worded: false,
    };
    items.set(id, item);
    return item;
  }

  function turnOf(item: Entry, complete: boolean): TranscriptTurn {
    const share = item.producedMs === 0 ? 0 : item.playedMs / item.producedMs;
    return {
      speaker: 'agent',
      text: complete ? item.text.trim() : wordsHeard(item.text, Math.min(share, 0.999)),
      startMs: Math.round(item.startMs),
      endMs: Math.round(item.startMs + item.playedMs),
    };
  }

  function finish(item: Entry, complete: boolean): void {
    items.delete(item.id);
    over.add(item.id);
    lastEndMs = Math.max(lastEndMs, item.startMs + item.playedMs);
    if (item.playedMs > 0 && item.text.trim() !== '') onTurn(turnOf(item, complete));
    onOver(item, complete);
  }

  return {
    /** @returns the item, or undefined when it is over and its audio is not to be heard */
    audio(id: string, kind: SpokenKind, bytes: number, contentIndex = 0): SpokenItem | undefined {
      const item = itemOf(id, kind);
      if (item === undefined) return undefined;
      const before = Array.from(items.values()).filter((other) => other !== item);
      const beginsMs = Math.max(now(), ...before.map(({ expectedEndMs }) => expectedEndMs));
      const ms = bytes / BYTES_PER_MS;
      item.expectedEndMs = item.producedMs === 0 ? beginsMs + ms : item.expectedEndMs + ms;
      if (item.producedMs === 0) item.startMs = beginsMs;
      item.producedMs += ms;
      item.contentIndex = contentIndex;
      return item;
    },

    words(id: string, kind: SpokenKind, delta: string): void {
      const item = itemOf(id, kind);
      if (item !== undefined) item.text += delta;
    },

    /** @param text all of its words, when they are known anew */
    wordsDone(id: string, text?: string): void {
      const item = items.get(id);
      if (item === undefined) return;
      item.text = text ?? item.text;
      item.worded = true;
      if (item.heard) finish(item, true);
      else if (item.complete && item.producedMs === 0) finish(item, false);
    },

    /** A response is done: no item of it gets more words. */
    allWorded(): void {
      for (const { id } of items.values()) this.wordsDone(id);
    },

    /** @returns whether the item is on the line, so that its end is to be told */
    audioDone(id: string): boolean {
      const item = items.get(id);
      if (item === undefined || item.complete) return false;
      item.complete = true;
      return item.producedMs > 0;
    },

    /** As the port tells it; what was played is never more than was produced. */
    played(id: string, playedMs: number, complete: boolean): void {
      const item = items.get(id);
      if (item === undefined) return;
      // Marks come a little late: what is heard next does not begin before it.
      if (item.playedMs === 0 && playedMs > 0) item.startMs = Math.max(lastEndMs, now() - playedMs);
      item.playedMs = Math.min(item.producedMs, Math.max(item.playedMs, playedMs));
      if (!complete) return;
      item.playedMs = item.producedMs;
      item.heard = true;
      if (item.worded) finish(item, true);
    },

    /** Takes everything that was not heard to its end off the line. To be called after a clear. */
    cut(): SpokenItem[] {
      const unheard = Array.from(items.values()).filter((item) => !item.heard);
      for (const item of items.values()) finish(item, item.heard);
      return unheard.filter(({ producedMs }) => producedMs > 0);
    },

    /** The provider is gone: what it has not said yet it will not say. @returns ids whose audio stays incomplete */
    orphan(): string[] {
      const incomplete = Array.from(items.values()).filter(({ complete, producedMs }) => !complete && producedMs > 0);
      for (const item of items.values()) {
        item.worded = true;
        item.complete = true;
        if (item.heard) finish(item, true);
        else if (item.producedMs === 0) finish(item, false);
      }
      return incomplete.map(({ id }) => id);
    },

    /** Without marks the talk must not stand still. */
    expire(): void {
      for (const item of items.values()) {
        if (item.complete && now() > item.expectedEndMs + SESSION_POLICY.playback.markGraceMs) finish(item, item.heard);
      }
    },

    isSpeaking: () => Array.from(items.values()).some(({ producedMs, heard }) => producedMs > 0 && !heard),
    /** What of the unfinished items was heard by now. */
    turnsSoFar: () =>
      Array.from(items.values())
        .filter(({ playedMs, text }) => playedMs > 0 && text.trim() !== '')
        .map((item) => turnOf(item, item.heard)),
  };
}

export type SpokenItems = ReturnType<typeof createSpokenItems>;
