import type { SessionCommand } from './commands.js';
import type { SessionEvent } from './events.js';
import { expectItem } from './playback.js';
import { stopReply } from './replies.js';
import { inOrder, isClosing, type ClosingState, type SessionState, type SessionStep } from './state.js';

type End = NonNullable<ClosingState['end']>;
type ProviderFault = Pick<Extract<SessionEvent, { type: 'provider_gone' }>, 'part' | 'message'>;

/** Says one last line, in the first way that works, and ends the session. At most one line is said in a session. */
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

/** Ends the session with a word the model has said, or without one. */
export function closeWith(state: SessionState, end: End, atMs: number): SessionStep {
  return inOrder(stopReply(state, atMs), (next) => [{ ...next, closing: { otherWays: [] } }, [end]]);
}

/** A provider is gone: a caller who has heard the agent is told so before the call fails. */
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

/** An item is over: was it the last line? */
export function onClosingItemOver(state: SessionState, itemId: string): SessionStep {
  return state.closing?.lastItemId === itemId ? finishClosing(state) : [state, []];
}

/** The last line cannot be said this way. */
export function onClosingItemFailed(state: SessionState, itemId: string): SessionStep {
  return state.closing?.lastItemId === itemId ? sayLastLine(state) : [state, []];
}

/** The reply that says the last words is whole on the line, or will not come. */
export function onClosingReplyOver(state: SessionState, replyId: string): SessionStep {
  return state.closing?.lastReplyId === replyId ? finishClosing(state) : [state, []];
}

/** The end that was decided comes now. */
export function finishClosing(state: SessionState): SessionStep {
  const { closing } = state;
  if (closing?.end === undefined || state.stopped) return [state, []];
  return [{ ...state, closing: { otherWays: [] } }, [closing.end]];
}

export function closingDueMs({ closing }: SessionState): number | undefined {
  return closing?.end === undefined ? undefined : closing.untilMs;
}
