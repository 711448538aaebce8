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
  answerNote,
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
  tellWhetherToAnswer,
} from './provider-replies.js';
import { SESSION_TIMERS, type SessionTimer } from './kinds.js';
import { itemOver, onSilenceTimer, silenceDueMs } from './silence.js';
import { inOrder, isClosing, startsReplies, without, type SessionState, type SessionStep } from './state.js';
import { onToolCalled, onToolFinished } from './tools.js';
import {
  flushWords,
  onRecogniserAlive,
  onRecogniserLost,
  onTurnEnded,
  onTurnGoesOn,
  onTurnMayEnd,
  onTurnTimer,
  onVoiceEnded,
  onVoicePaused,
  onVoiceStarted,
  onWords,
  turnDueMs,
  waitAnew,
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
  playback: onPlaybackOverdue,
};

const ON_EVENT: Handlers = {
  line_opened: onLineOpened,
  voice_started: onVoiceStarted,
  voice_paused: onVoicePaused,
  voice_ended: onVoiceEnded,
  words: onWords,
  turn_may_end: onTurnMayEnd,
  turn_goes_on: onTurnGoesOn,
  turn_ended: onTurnEnded,
  turn_over: onTurnOver,
  turn_words: onTurnWords,
  recogniser_alive: onRecogniserAlive,
  recogniser_lost: (state, { atMs }) => onRecogniserLost(state, atMs),
  recogniser_reopened: (state, { atMs }) => waitAnew(state, atMs),
  dtmf_digit: (state, { digit, atMs }) => onDigit(state, digit, atMs),
  dtmf_entered: (state, { atMs }) => onDigitsEntered(state, atMs),
  reply_begun: onReplyBegun,
  reply_missed: (state, { atMs }) => onReplyMissed(state, atMs),
  reply_wanted: (state, { atMs }) => onReplyWanted(state, atMs),
  reply_heard: onReplyHeard,
  reply_done: (state, { replyId, atMs }) =>
    inOrder(onReplyDone(state, replyId, atMs), (next) => onClosingReplyOver(next, replyId)),
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

/** One step of a session: the new state after an event, and the commands to perform. Pure. */
export function reduceSession(state: SessionState, event: SessionEvent): SessionStep {
  if (state.stopped) return onLastWords(state, event);
  const { atMs } = event;
  const handle = ON_EVENT[event.type] as (state: SessionState, event: SessionEvent) => SessionState | SessionStep;
  const step = inOrder(
    handle(state, event),
    (next) => ((bargeInDueMs(next) ?? Infinity) <= atMs ? bargeIn(next, atMs) : next),
    (next) => wrapUpIfQuiet(next, atMs),
    (next) => tellWhetherToAnswer(next, atMs),
    (next) => storeAnsweredBy(state, next),
  );
  return withTimers(afterClosedItems(step, atMs));
}

/** After the session has ended, still stores the words of the last items and turns. */
function onLastWords(state: SessionState, event: SessionEvent): SessionStep {
  if (event.type === 'item_words') return onItemWords(state, event);
  if (event.type === 'turn_ended') return onTurnEnded(state, event);
  return event.type === 'turn_words' ? onTurnWords(state, event) : [state, []];
}

/** Starts the conversation. A provider that starts replies has the request to begin in its session's instructions. */
function onLineOpened(state: SessionState, { atMs }: EventOf<'line_opened'>): SessionStep {
  const opened = { ...state, silence: { quietSinceMs: atMs, prompted: false } };
  if (startsReplies(state)) return beginReply(opened, atMs);
  if (isClosing(opened)) return [opened, []];
  // The caller is already speaking: reply to that instead of starting.
  if (opened.turns.isOpen) return [{ ...opened, owed: opened.owed ?? 'question' }, []];
  const note = state.setup.introduced ? 'The line is back. Go on.' : 'The line is open. Begin to speak.';
  return answerNote(opened, note, atMs, { task: 'resume' });
}

/** Checks for each closed item whether it was the last one. */
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

/** Without any mark an item counts as not heard, but the silence timeout starts from its end. */
function onPlaybackOverdue(state: SessionState): SessionStep {
  const [first] = state.playback.items;
  return inOrder(onPlaybackTimer(state), (next) => (first === undefined ? next : itemOver(next, first.kind)));
}

/** Ignores a timer that fires although the state no longer needs it, or not yet. */
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
    (next) => (kind === 'reprompt' ? closeForFault(next, event, atMs) : next),
  );
}

/** Stores the played words of an item in the transcript. */
function onItemWords(state: SessionState, event: EventOf<'item_words'>): SessionStep {
  const { text, complete, startMs, endMs } = event;
  if (text === '') return [state, []];
  const heard = complete ? text : `${text} (interrupted)`;
  return [state, [{ type: 'store_turn', speaker: 'agent', text: heard, startMs, endMs }]];
}

/** The call is over: stores everything heard so far. */
function onStopped(state: SessionState, { atMs }: EventOf<'stopped'>): SessionStep {
  return inOrder(
    { ...without(state, 'waiting'), stopped: true },
    (next) => completeDigits(next, atMs),
    (next) => flushWords(next, atMs),
    (next) => closeAll(next, atMs),
    cancelReply,
  );
}
