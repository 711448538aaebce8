import type { SessionCommand } from './commands.js';
import type { SessionEvent } from './events.js';
import { expectItem } from './playback.js';
import { stopReply } from './replies.js';
import { inOrder, isClosing, type ClosingState, type SessionState, type SessionStep } from './state.js';

type End = NonNullable<ClosingState['end']>;
type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;
type ProviderFault = Pick<EventOf<'provider_gone'>, 'part' | 'message'>;

/**
 * Says one last sentence and ends the session. Does nothing if the session is already ending. If the sentence cannot be
 * said in the first of the given ways, tries the next one.
 */
export function beginClosing(
  state: SessionState,
  options: { end: End; phrase: NonNullable<ClosingState['phrase']>; ways: ClosingState['otherWays'] },
  atMs: number,
): SessionStep {
  if (isClosing(state)) return [state, []];
  const untilMs = atMs + state.setup.policy.closing.lastLineWithinMs;
  return inOrder(
    stopReply(state, atMs),
    (next) => ({ ...next, closing: { end: options.end, phrase: options.phrase, otherWays: options.ways, untilMs } }),
    sayLastPhrase,
  );
}

/** Ends the session without a last sentence. */
export function closeWith(state: SessionState, end: End, atMs: number): SessionStep {
  return inOrder(stopReply(state, atMs), (next) => [{ ...next, closing: { otherWays: [] } }, [end]]);
}

/** Handles a reply that is the agent's goodbye. Once the reply has played, the remote party may hang up first. */
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

/**
 * Ends the session because a provider is gone. Says an apology before, if the caller has heard the agent and no other
 * engine continues the call.
 */
export function closeForFault(state: SessionState, { part, message }: ProviderFault, atMs: number): SessionStep {
  if (isClosing(state)) return [state, []];
  const end: SessionCommand = { type: 'fail', part, message };
  const isHeard = state.playback.hasPlayed || state.setup.resumed;
  if (!isHeard || state.setup.hasSuccessor === true) return closeWith(state, end, atMs);
  const ways = part === 'voice' ? (['prepared'] as const) : (['prepared', 'voice'] as const);
  return beginClosing(state, { end, phrase: 'apology', ways }, atMs);
}

function sayLastPhrase(state: SessionState): SessionStep {
  const { closing } = state;
  const [by, ...otherWays] = closing?.otherWays ?? [];
  if (closing?.phrase === undefined || by === undefined) return finishClosing(state);
  const count = state.count + 1;
  const itemId = `line-${count}`;
  return [
    expectItem({ ...state, count, closing: { ...closing, otherWays, lastItemId: itemId } }, itemId, 'closing'),
    [{ type: 'say', itemId, phrase: closing.phrase, by }],
  ];
}

/** If the finished item was the last one, ends the session, or waits for the remote party to hang up first. */
export function onClosingItemOver(state: SessionState, itemId: string, atMs: number): SessionStep {
  const { closing } = state;
  if (closing?.lastItemId !== itemId) return [state, []];
  if (closing.lingersMs === undefined) return finishClosing(state);
  return [{ ...state, closing: { ...closing, isLingering: true, untilMs: atMs + closing.lingersMs } }, []];
}

/** If the last sentence failed, says it in another way, or ends the session if no way is left. */
export function onClosingItemFailed(state: SessionState, itemId: string): SessionStep {
  return state.closing?.lastItemId === itemId ? sayLastPhrase(state) : [state, []];
}

/** Ends the session if the finished or failed reply was the last one. */
export function onClosingReplyOver(state: SessionState, replyId: string): SessionStep {
  return state.closing?.lastReplyId === replyId ? finishClosing(state) : [state, []];
}

/** Ends the session if the goodbye failed. */
export function onLastReplyFailed(state: SessionState): SessionStep {
  return state.closing?.lingersMs === undefined ? [state, []] : finishClosing(state);
}

/** Emits the command that ends the session, as decided before its last sentence. */
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
