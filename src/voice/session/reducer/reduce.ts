import { bargeIn, bargeInDueMs } from './barge-in.js';
import {
  closeAfterReply,
  closeForFault,
  closingDueMs,
  finishClosing,
  onClosingItemFailed,
  onClosingItemOver,
  onClosingReplyOver,
  onLastReplyFailed,
} from './closing.js';
import type { SessionCommand } from './commands.js';
import { completeDigits, dtmfDueMs, onDigit, onDigitsEntered } from './dtmf.js';
import type { SessionEvent } from './events.js';
import { fillerDueMs, onFillerTimer } from './filler.js';
import {
  closeAll,
  dropExpected,
  onItemAudio,
  onItemPlayed,
  onItemWhole,
  onPlaybackTimer,
  playbackDueMs,
} from './playback.js';
import {
  replyToNote,
  beginReply,
  cancelReply,
  dropEarlyReply,
  onEndingSoon,
  onReplyDone,
  onReplyHeard,
  replyDueMs,
  wrapUpIfQuiet,
} from './replies.js';
import {
  onProviderBack,
  onProviderLost,
  onReplyBegun,
  onReplyMissed,
  onReplyWanted,
  onTurnOver,
  onTurnWords,
  updateAutoReply,
} from './provider-replies.js';
import { chargeReplies } from './reply-budget.js';
import { SESSION_TIMERS, type SessionTimer } from './kinds.js';
import { itemOver, onSilenceTimer, silenceDueMs } from './silence.js';
import { inOrder, isClosing, providerStartsReplies, without, type SessionState, type SessionStep } from './state.js';
import { onToolCalled, onToolFinished } from './tools.js';
import {
  flushWords,
  onSttAlive,
  onSttChanged,
  onSttLost,
  onTurnEnded,
  onTurnTyped,
  onTurnContinued,
  onTurnMayEnd,
  onTurnTimer,
  onVoiceEnded,
  onVoicePaused,
  onVoiceStarted,
  onWords,
  turnDueMs,
  restartVoiceTimeouts,
} from './turns.js';
import {
  onAnsweredBy,
  onMachineHeard,
  onToneHeard,
  onVoicemailTimer,
  storeAnsweredBy,
  voicemailDueMs,
} from './voicemail.js';

type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;
type Handlers = { [T in SessionEvent['type']]: (state: SessionState, event: EventOf<T>) => SessionState | SessionStep };

/** When each timer is due; undefined if it does not run. */
const DUE: Record<SessionTimer, (state: SessionState) => number | undefined> = {
  turn: turnDueMs,
  barge_in: bargeInDueMs,
  silence: silenceDueMs,
  dtmf: dtmfDueMs,
  reply: replyDueMs,
  filler: fillerDueMs,
  voicemail: voicemailDueMs,
  closing: closingDueMs,
  playback: playbackDueMs,
};

const ON_TIMER: Record<SessionTimer, (state: SessionState, atMs: number) => SessionState | SessionStep> = {
  turn: onTurnTimer,
  barge_in: bargeIn,
  silence: onSilenceTimer,
  dtmf: completeDigits,
  reply: (state, atMs) => beginReply(state, atMs, { task: state.task }),
  filler: onFillerTimer,
  voicemail: onVoicemailTimer,
  closing: finishClosing,
  playback: onPlaybackTimerFired,
};

const ON_EVENT: Handlers = {
  line_opened: onLineOpened,
  voice_started: onVoiceStarted,
  voice_paused: onVoicePaused,
  voice_ended: onVoiceEnded,
  words: onWords,
  turn_may_end: onTurnMayEnd,
  turn_goes_on: onTurnContinued,
  turn_ended: onTurnEnded,
  turn_over: onTurnOver,
  turn_words: onTurnWords,
  turn_typed: onTurnTyped,
  recogniser_alive: onSttAlive,
  recogniser_lost: (state, { atMs }) => onSttLost(state, atMs),
  recogniser_reopened: (state, { atMs }) => restartVoiceTimeouts(state, atMs),
  recogniser_changed: onSttChanged,
  dtmf_digit: (state, { digit, atMs }) => onDigit(state, digit, atMs),
  dtmf_entered: (state, { atMs }) => onDigitsEntered(state, atMs),
  reply_begun: onReplyBegun,
  reply_missed: (state, { atMs }) => onReplyMissed(state, atMs),
  reply_wanted: (state, { atMs }) => onReplyWanted(state, atMs),
  reply_heard: onReplyHeard,
  reply_done: (state, { replyId, atMs }) =>
    inOrder(onReplyDone(state, replyId, atMs), (next) => onClosingReplyOver(next, replyId)),
  replies_charged: (state, { count, atMs }) => ({
    ...state,
    replies: chargeReplies(state.replies, state.setup.policy.replies, atMs, count),
  }),
  reply_is_last: closeAfterReply,
  reply_failed: onReplyFailed,
  tool_called: onToolCalled,
  tool_finished: onToolFinished,
  item_audio: onItemAudio,
  item_whole: (state, event) =>
    inOrder(onItemWhole(state, event), (next) => {
      const { kind } = next.playback.items.find(({ id }) => id === event.itemId) ?? {};
      return kind === 'message' ? onClosingItemOver(next, event.itemId, event.atMs) : next;
    }),
  item_failed: onItemFailed,
  item_played: onItemPlayed,
  item_words: onItemWords,
  tone_heard: onToneHeard,
  machine_heard: (state, { atMs }) => onMachineHeard(state, atMs),
  answered_by: onAnsweredBy,
  ending_soon: (state, { secondsLeft }) => onEndingSoon(state, secondsLeft),
  provider_lost: (state, { atMs }) => onProviderLost(state, atMs),
  provider_back: (state, { atMs }) => onProviderBack(state, atMs),
  provider_gone: (state, event) => closeForFault(state, event, event.atMs),
  timer: (state, { timer, atMs }) => onTimer(state, timer, atMs),
  stopped: onStopped,
};

/** Notes to the model when it continues a call. */
const BACK_NOTES = {
  line: 'The line is back. Continue.',
  rest: 'Continue where you stopped.',
  question: 'Answer what the other person said last.',
} as const;

/** Returns the new state of a session after an event, and the commands to perform. Has no side effects. */
export function reduceSession(state: SessionState, event: SessionEvent): SessionStep {
  if (state.stopped) return onEventAfterStop(state, event);
  const { atMs } = event;
  const handle = ON_EVENT[event.type] as (state: SessionState, event: SessionEvent) => SessionState | SessionStep;
  const step = inOrder(
    handle(state, event),
    (next) => ((bargeInDueMs(next) ?? Infinity) <= atMs ? bargeIn(next, atMs) : next),
    (next) => wrapUpIfQuiet(next, atMs),
    (next) => updateAutoReply(next, atMs),
    (next) => storeAnsweredBy(state, next),
  );
  return withTimers(afterClosedItems(step, atMs));
}

/** After the session has ended, still stores the words of the last items and turns. */
function onEventAfterStop(state: SessionState, event: SessionEvent): SessionStep {
  if (event.type === 'item_words') return onItemWords(state, event);
  if (event.type === 'turn_ended') return onTurnEnded(state, event);
  return event.type === 'turn_words' ? onTurnWords(state, event) : [state, []];
}

/**
 * Starts the conversation. A provider that starts replies needs no message about the open line, because its instructions
 * say how to begin.
 */
function onLineOpened(state: SessionState, { atMs }: EventOf<'line_opened'>): SessionStep {
  const opened = { ...state, silence: { quietSinceMs: atMs, prompted: false } };
  const isAsked = state.setup.takesOver === 'question';
  if (state.setup.opening?.waitsForCaller === true && !state.introduction.heard && !isAsked) return [opened, []];
  if (providerStartsReplies(state)) return beginReply(opened, atMs);
  if (isClosing(opened)) return [opened, []];
  // If the caller is already speaking, reply to the caller instead of starting the conversation.
  if (opened.turns.isOpen) return [{ ...opened, pendingNote: opened.pendingNote ?? 'question' }, []];
  // The caller's words to another engine are being transcribed. If there are none, the agent continues.
  if (opened.turns.voice !== undefined) return [{ ...opened, pendingNote: 'rest' }, []];
  const { introduced, takesOver } = state.setup;
  const note = introduced ? BACK_NOTES[takesOver ?? 'line'] : 'The line is open. Begin to speak.';
  return replyToNote(opened, note, atMs, { task: 'resume' });
}

/**
 * After items were closed: restarts the silence timeout for those played to their end. If one of them was the last item
 * of the session, continues to end the session.
 */
function afterClosedItems(step: SessionStep, atMs: number): SessionStep {
  const closed = step[1].filter((command) => command.type === 'close_item');
  return inOrder(
    step,
    ...closed.map(
      ({ itemId, kind, complete }) =>
        (state: SessionState) =>
          onClosingItemOver(complete ? itemOver(state, kind) : state, itemId, atMs),
    ),
  );
}

/** Closes an item whose marks are missing. The silence timeout starts at its end even if it counts as not heard. */
function onPlaybackTimerFired(state: SessionState): SessionStep {
  const [first] = state.playback.items;
  return inOrder(onPlaybackTimer(state), (next) => (first === undefined ? next : itemOver(next, first.kind)));
}

/** Handles a timer. Ignores it if it is not due according to the current state. */
function onTimer(state: SessionState, timer: SessionTimer, atMs: number): SessionState | SessionStep {
  const { [timer]: _, ...timers } = state.timers;
  const fired = { ...state, timers };
  return (DUE[timer](fired) ?? Infinity) <= atMs ? ON_TIMER[timer](fired, atMs) : fired;
}

/** Starts and stops timers as the state requires. */
function withTimers([state, commands]: SessionStep): SessionStep {
  const changes: SessionCommand[] = [];
  const timers: SessionState['timers'] = {};
  for (const timer of SESSION_TIMERS) {
    const dueMs = state.stopped ? undefined : DUE[timer](state);
    if (dueMs !== undefined) timers[timer] = dueMs;
    if (dueMs === state.timers[timer]) continue;
    changes.push(dueMs === undefined ? { type: 'stop_timer', timer } : { type: 'start_timer', timer, dueMs });
  }
  return [{ ...state, timers }, [...commands, ...changes]];
}

function onReplyFailed(state: SessionState, event: EventOf<'reply_failed'>): SessionStep {
  const { reply } = state;
  if (reply?.id !== event.replyId) return [state, []];
  if (!reply.confirmed) return dropEarlyReply(state);
  return inOrder(
    { ...state, reply: { ...reply, running: false } },
    (next) => onClosingReplyOver(next, event.replyId),
    onLastReplyFailed,
    (next) => closeForFault(next, event, event.atMs),
  );
}

function onItemFailed(state: SessionState, event: EventOf<'item_failed'>): SessionStep {
  const { itemId, atMs } = event;
  const { expected, items } = state.playback;
  const { kind } = [...expected, ...items].find(({ id }) => id === itemId) ?? {};
  if (kind === undefined) return [state, []];
  return inOrder(
    expected.some(({ id }) => id === itemId) ? dropExpected(state, itemId, kind, atMs) : state,
    (next) => onClosingItemFailed(next, itemId),
    // Only an introduction that is a fixed message is an item that can fail.
    (next) => (kind === 'reprompt' || kind === 'introduction' ? closeForFault(next, event, atMs) : next),
  );
}

/** Stores the played words of an item in the transcript. */
function onItemWords(state: SessionState, event: EventOf<'item_words'>): SessionStep {
  const { text, complete, startMs, endMs } = event;
  if (text === '') return [state, []];
  const heard = complete ? text : `${text} (interrupted)`;
  return [state, [{ type: 'store_turn', speaker: 'agent', text: heard, startMs, endMs }]];
}

/** Handles the end of the call: stores everything heard so far. */
function onStopped(state: SessionState, { atMs }: EventOf<'stopped'>): SessionStep {
  return inOrder(
    { ...without(state, 'waiting'), stopped: true },
    (next) => completeDigits(next, atMs),
    (next) => flushWords(next, atMs),
    (next) => closeAll(next, atMs),
    cancelReply,
  );
}
