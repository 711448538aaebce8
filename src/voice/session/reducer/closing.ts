import type { SessionCommand } from './commands.js';
import type { SessionEvent } from './events.js';
import { expectItem } from './playback.js';
import { stopReply } from './replies.js';
import { inOrder, isClosing, type ClosingState, type SessionState, type SessionStep } from './state.js';

type End = NonNullable<ClosingState['end']>;
type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;
type ProviderFault = Pick<EventOf<'provider_gone'>, 'part' | 'message'>;

/** Says one last sentence, in the first way that works, and ends the session. Happens at most once per session. */
export function beginClosing(
  state: SessionState,
  p: { end: End; line: NonNullable<ClosingState['line']>; ways: ClosingState['otherWays'] },
  atMs: number,
): SessionStep {
  if (isClosing(state)) return [state, []];
  const untilMs = atMs + state.setup.policy.closing.lastLineWithinMs;
  return inOrder(
    stopReply(state, atMs),
    (next) => ({ ...next, closing: { end: p.end, line: p.line, otherWays: p.ways, untilMs } }),
    sayLastLine,
  );
}

/** Ends the session without a last sentence. */
export function closeWith(state: SessionState, end: End, atMs: number): SessionStep {
  return inOrder(stopReply(state, atMs), (next) => [{ ...next, closing: { otherWays: [] } }, [end]]);
}

/** The reply is the agent's goodbye: once it has played, the remote party may hang up first. */
export function closeAfterReply(state: SessionState, event: EventOf<'reply_is_last'>): SessionState {
  const { replyId, itemId, goodbyeBy, atMs } = event;
  if (isClosing(state) || state.reply?.id !== replyId) return state;
  const { lastLineWithinMs, lingerMs, hangUpWithinMs } = state.setup.policy.closing;
  const closing: ClosingState = {
    end: { type: 'end', reason: 'agent_hangup' },
    lastItemId: itemId,
    lingersMs: goodbyeBy === 'agent' ? lingerMs : hangUpWithinMs,
    otherWays: [],
    untilMs: atMs + lastLineWithinMs,
  };
  return { ...state, closing };
}

/** A provider is gone: apologize before the call fails, if the caller has heard the agent. */
export function closeForFault(state: SessionState, { part, message }: ProviderFault, atMs: number): SessionStep {
  if (isClosing(state)) return [state, []];
  const end: SessionCommand = { type: 'fail', part, message };
  if (!state.playback.heardAnything && !state.setup.resumed) return closeWith(state, end, atMs);
  const ways = part === 'voice' ? (['prepared'] as const) : (['prepared', 'voice'] as const);
  return beginClosing(state, { end, line: 'sorry', ways }, atMs);
}

function sayLastLine(state: SessionState): SessionStep {
  const { closing } = state;
  const [by, ...otherWays] = closing?.otherWays ?? [];
  if (closing?.line === undefined || by === undefined) return finishClosing(state);
  const count = state.count + 1;
  const itemId = `line-${count}`;
  return [
    expectItem({ ...state, count, closing: { ...closing, otherWays, lastItemId: itemId } }, itemId, 'closing'),
    [{ type: 'say', itemId, line: closing.line, by }],
  ];
}

/** Ends the session or starts lingering if the finished item was the last one. */
export function onClosingItemOver(state: SessionState, itemId: string, atMs: number): SessionStep {
  const { closing } = state;
  if (closing?.lastItemId !== itemId) return [state, []];
  if (closing.lingersMs === undefined) return finishClosing(state);
  return [{ ...state, closing: { ...closing, isLingering: true, untilMs: atMs + closing.lingersMs } }, []];
}

/** The last sentence failed this way: try the next. */
export function onClosingItemFailed(state: SessionState, itemId: string): SessionStep {
  return state.closing?.lastItemId === itemId ? sayLastLine(state) : [state, []];
}

/** Ends the session if the finished or failed reply was the last one. */
export function onClosingReplyOver(state: SessionState, replyId: string): SessionStep {
  return state.closing?.lastReplyId === replyId ? finishClosing(state) : [state, []];
}

/** Ends the session if the goodbye failed. */
export function onLastReplyFailed(state: SessionState): SessionStep {
  return state.closing?.lingersMs === undefined ? [state, []] : finishClosing(state);
}

/** Emits the end that was decided. */
export function finishClosing(state: SessionState): SessionStep {
  const { closing } = state;
  if (closing?.end === undefined || state.stopped) return [state, []];
  return [{ ...state, closing: { otherWays: [] } }, [closing.end]];
}

export function closingDueMs({ closing, turns, setup }: SessionState): number | undefined {
  if (closing?.end === undefined || closing.untilMs === undefined) return undefined;
  const isSpokenInto = closing.isLingering === true && turns.isOpen;
  return closing.untilMs + (isSpokenInto ? setup.policy.closing.lastSentenceMs : 0);
}
