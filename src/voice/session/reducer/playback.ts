import type { SessionCommand } from './commands.js';
import type { SessionEvent } from './events.js';
import { afterIntroduction } from './resume.js';
import type { ItemKind } from './kinds.js';
import { inOrder, type LineItem, type SessionState, type SessionStep } from './state.js';

type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

/** Audio of an item was handed over. Audio of closed items, and of replies that were taken back, is not for the line. */
export function onItemAudio(state: SessionState, { itemId, replyId, ms, atMs }: EventOf<'item_audio'>): SessionStep {
  const { playback, reply } = state;
  if (playback.closed.has(itemId)) return [state, []];
  const send: SessionCommand = { type: 'send_audio', itemId };
  const known = playback.items.find(({ id }) => id === itemId);
  if (known !== undefined) {
    const endsAtMs = Math.max(known.endsAtMs, atMs) + ms;
    return [withItem(state, { ...known, queuedMs: known.queuedMs + ms, endsAtMs }), [send]];
  }
  const kind =
    replyId === undefined
      ? playback.expected.find(({ id }) => id === itemId)?.kind
      : reply?.id === replyId && reply.confirmed
        ? reply.kind
        : undefined;
  if (kind === undefined) return [state, []];
  const begun = { id: itemId, kind, queuedMs: ms, queuedAtMs: atMs, endsAtMs: atMs + ms };
  const item: LineItem = { ...begun, playedMs: 0, isWhole: false };
  const items = [...playback.items, item];
  const expected = playback.expected.filter(({ id }) => id !== itemId);
  const filler = { ...state.filler, isSaid: kind === 'filler' };
  return [{ ...state, filler, playback: { ...playback, items, expected } }, [send]];
}

/** All audio of an item has come. */
export function onItemWhole(state: SessionState, { itemId, atMs }: EventOf<'item_whole'>): SessionStep {
  const item = state.playback.items.find(({ id }) => id === itemId);
  if (item !== undefined) return [withItem(state, { ...item, isWhole: true }), [{ type: 'end_item', itemId }]];
  // A line without a sound is over before it began.
  const kind = state.playback.expected.find(({ id }) => id === itemId)?.kind;
  return kind === undefined ? [state, []] : dropExpected(state, itemId, kind, atMs);
}

/** The caller has heard this much of an item. */
export function onItemPlayed(state: SessionState, event: EventOf<'item_played'>): SessionStep {
  const { itemId, playedMs, complete, atMs } = event;
  const heard = playedMs > 0 ? { ...state, playback: { ...state.playback, heardAnything: true } } : state;
  const item = state.playback.items.find(({ id }) => id === itemId);
  if (item === undefined) return [heard, []];
  const played: LineItem = {
    ...item,
    playedMs: Math.max(item.playedMs, playedMs),
    ...(playedMs > 0 && item.startedAtMs === undefined ? { startedAtMs: atMs - playedMs } : {}),
  };
  return complete ? closeItem(heard, played, true, atMs) : [withItem(heard, played), []];
}

/** Expects a line whose audio is being made. */
export function expectItem(state: SessionState, id: string, kind: ItemKind): SessionState {
  return { ...state, playback: { ...state.playback, expected: [...state.playback.expected, { id, kind }] } };
}

/** Takes an item off the line: heard to its end, or as far as it was played. */
export function closeItem(state: SessionState, item: LineItem, complete: boolean, atMs: number): SessionStep {
  const { playback } = state;
  const closed: SessionState = {
    ...state,
    playback: {
      ...playback,
      items: playback.items.filter(({ id }) => id !== item.id),
      closed: new Set([...playback.closed, item.id]),
      lastOverAtMs: atMs,
    },
  };
  return inOrder([closed, [closing(item, complete)]], (next) => afterIntroduction(next, item, complete));
}

function closing(item: LineItem, complete: boolean): SessionCommand {
  const { id: itemId, kind, playedMs } = item;
  const startMs = Math.max(0, Math.round(item.startedAtMs ?? item.queuedAtMs));
  return { type: 'close_item', itemId, kind, playedMs, complete, startMs };
}

/**
 * Takes everything off the line.
 * @param keep items that stay
 */
export function clearLine(state: SessionState, atMs: number, keep?: ItemKind): SessionStep {
  const isKept = state.playback.items.every(({ kind }) => kind === keep);
  return inOrder([state, isKept ? [] : [{ type: 'clear' }]], (next) => closeAll(next, atMs, keep));
}

/** Closes every item as far as it was played; the line is cleared already, or gone. */
export function closeAll(state: SessionState, atMs: number, keep?: ItemKind): SessionStep {
  const items = state.playback.items.filter(({ kind }) => kind !== keep);
  const expected = state.playback.expected.filter(({ kind }) => kind !== keep);
  return inOrder(
    state,
    ...items.map((item) => (next: SessionState) => closeItem(next, item, false, atMs)),
    ...expected.map(
      ({ id, kind }) =>
        (next: SessionState) =>
          dropExpected(next, id, kind, atMs),
    ),
  );
}

/** A line that never came to the line is over. */
export function dropExpected(state: SessionState, itemId: string, kind: ItemKind, atMs: number): SessionStep {
  const { playback } = state;
  const expected = playback.expected.filter(({ id }) => id !== itemId);
  const closed = new Set([...playback.closed, itemId]);
  const startMs = Math.round(atMs);
  return [
    { ...state, playback: { ...playback, expected, closed } },
    [{ type: 'close_item', itemId, kind, playedMs: 0, complete: false, startMs }],
  ];
}

/**
 * Without marks a session must not stand still: the item that is heard now is over some time after its length, counted
 * from its last piece if that came late.
 */
export function playbackDueMs({ playback, setup }: SessionState): number | undefined {
  const [first] = playback.items;
  if (first === undefined || !first.isWhole) return undefined;
  return endOf(first, playback.lastOverAtMs) + setup.policy.playback.markGraceMs;
}

/** Its last mark is lost. An item that marks prove begun was heard to its end; of another one no word was. */
export function onPlaybackTimer(state: SessionState): SessionStep {
  const [first] = state.playback.items;
  if (first === undefined) return [state, []];
  const endMs = endOf(first, state.playback.lastOverAtMs);
  if (first.playedMs === 0) return closeItem(state, first, false, endMs);
  return closeItem(state, { ...first, playedMs: first.queuedMs }, true, endMs);
}

/** When an item has been played that began after the one before it was over. */
function endOf(item: LineItem, lastOverAtMs: number): number {
  const beganMs = Math.max(item.startedAtMs ?? item.queuedAtMs, lastOverAtMs);
  return Math.max(beganMs + item.queuedMs, item.endsAtMs);
}

function withItem(state: SessionState, item: LineItem): SessionState {
  const items = state.playback.items.map((each) => (each.id === item.id ? item : each));
  return { ...state, playback: { ...state.playback, items } };
}
