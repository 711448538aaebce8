import type { SessionCommand } from './commands.js';
import type { SessionEvent } from './events.js';
import { onIntroductionOver } from './resume.js';
import type { ItemKind } from './kinds.js';
import { inOrder, type PlaybackItem, type SessionState, type SessionStep } from './state.js';

type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

/** Sends new audio of an item to the caller. Drops audio of closed items and of canceled or unconfirmed replies. */
export function onItemAudio(state: SessionState, { itemId, replyId, ms, atMs }: EventOf<'item_audio'>): SessionStep {
  const { playback, reply } = state;
  if (playback.closed.has(itemId)) return [state, []];
  const send: SessionCommand = { type: 'send_audio', itemId };
  const known = playback.items.find(({ id }) => id === itemId);
  if (known !== undefined) {
    const endsAtMs = Math.max(known.endsAtMs, atMs) + ms;
    return [replaceItem(state, { ...known, queuedMs: known.queuedMs + ms, endsAtMs }), [send]];
  }
  const kind =
    replyId === undefined
      ? playback.expected.find(({ id }) => id === itemId)?.kind
      : reply?.id === replyId && reply.confirmed
        ? reply.kind
        : undefined;
  if (kind === undefined) return [state, []];
  const begun = { id: itemId, kind, queuedMs: ms, queuedAtMs: atMs, endsAtMs: atMs + ms };
  const item: PlaybackItem = { ...begun, playedMs: 0, isWhole: false };
  const items = [...playback.items, item];
  const expected = playback.expected.filter(({ id }) => id !== itemId);
  const filler = { ...state.filler, isSaid: kind === 'filler' };
  return [{ ...state, filler, playback: { ...playback, items, expected } }, [send]];
}

/** Handles an item whose audio has all arrived. */
export function onItemWhole(state: SessionState, { itemId, atMs }: EventOf<'item_whole'>): SessionStep {
  const item = state.playback.items.find(({ id }) => id === itemId);
  if (item !== undefined) return [replaceItem(state, { ...item, isWhole: true }), [{ type: 'end_item', itemId }]];
  // An item without audio is over at once.
  const kind = state.playback.expected.find(({ id }) => id === itemId)?.kind;
  return kind === undefined ? [state, []] : dropExpected(state, itemId, kind, atMs);
}

/** Updates how much of an item the caller has heard. */
export function onItemPlayed(state: SessionState, event: EventOf<'item_played'>): SessionStep {
  const { itemId, playedMs, complete, atMs } = event;
  const heard = playedMs > 0 ? { ...state, playback: { ...state.playback, hasPlayed: true } } : state;
  const item = state.playback.items.find(({ id }) => id === itemId);
  if (item === undefined) return [heard, []];
  const played: PlaybackItem = {
    ...item,
    playedMs: Math.max(item.playedMs, playedMs),
    ...(playedMs > 0 && item.startedAtMs === undefined ? { startedAtMs: atMs - playedMs } : {}),
  };
  return complete ? closeItem(heard, played, true, atMs) : [replaceItem(heard, played), []];
}

/** Adds an item whose audio is not ready yet. */
export function expectItem(state: SessionState, id: string, kind: ItemKind): SessionState {
  return { ...state, playback: { ...state.playback, expected: [...state.playback.expected, { id, kind }] } };
}

/** Closes an item, either as complete or as far as it was played. */
export function closeItem(state: SessionState, item: PlaybackItem, complete: boolean, atMs: number): SessionStep {
  const { playback } = state;
  const closed: SessionState = {
    ...state,
    turns: complete ? { ...state.turns, agentHeard: true } : state.turns,
    playback: {
      ...playback,
      items: playback.items.filter(({ id }) => id !== item.id),
      closed: new Set([...playback.closed, item.id]),
      lastOverAtMs: atMs,
    },
  };
  return inOrder([closed, [closeItemCommand(item, complete)]], (next) => onIntroductionOver(next, item, complete));
}

function closeItemCommand(item: PlaybackItem, complete: boolean): SessionCommand {
  const { id: itemId, kind, playedMs } = item;
  const startMs = Math.max(0, Math.round(item.startedAtMs ?? item.queuedAtMs));
  return { type: 'close_item', itemId, kind, playedMs, complete, startMs };
}

/**
 * Clears queued audio and closes all items.
 * @param keep kind of items that stay
 */
export function clearPlayback(state: SessionState, atMs: number, keep?: ItemKind): SessionStep {
  const isKept = state.playback.items.every(({ kind }) => kind === keep);
  return inOrder([state, isKept ? [] : [{ type: 'clear' }]], (next) => closeAll(next, atMs, keep));
}

/**
 * Closes every item as far as it was played. Does not clear the queued audio, which was cleared before or no longer
 * matters.
 */
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

/** Closes an expected item that never had any audio. */
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
 * When the current item counts as ended although its last mark is missing: some time after all of its audio must have
 * been played, including audio that came late.
 */
export function playbackDueMs({ playback, setup }: SessionState): number | undefined {
  const [first] = playback.items;
  if (first === undefined || !first.isWhole) return undefined;
  return itemEndMs(first, playback.lastOverAtMs) + setup.policy.playback.markGraceMs;
}

/** Closes an item whose last mark is missing. It counts as heard if an earlier mark confirmed its start. */
export function onPlaybackTimer(state: SessionState): SessionStep {
  const [first] = state.playback.items;
  if (first === undefined) return [state, []];
  const endMs = itemEndMs(first, state.playback.lastOverAtMs);
  if (first.playedMs === 0) return closeItem(state, first, false, endMs);
  return closeItem(state, { ...first, playedMs: first.queuedMs }, true, endMs);
}

/** When an item has played to its end. An item starts after the previous one has ended. */
function itemEndMs(item: PlaybackItem, lastOverAtMs: number): number {
  const beganMs = Math.max(item.startedAtMs ?? item.queuedAtMs, lastOverAtMs);
  return Math.max(beganMs + item.queuedMs, item.endsAtMs);
}

function replaceItem(state: SessionState, item: PlaybackItem): SessionState {
  const items = state.playback.items.map((each) => (each.id === item.id ? item : each));
  return { ...state, playback: { ...state.playback, items } };
}
