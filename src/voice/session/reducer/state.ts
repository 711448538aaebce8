import type { AnsweredBy } from '../../../kernel/call-state.js';
import type { SessionCommand } from './commands.js';
import type { ItemKind, ReplyTask, SessionTimer } from './kinds.js';
import type { SessionPolicy } from './policy.js';
import type { ReplyCount } from './reply-budget.js';

/** What does not change in the course of a session. */
export interface SessionSetup {
  policy: SessionPolicy;
  capabilities: {
    /**
     * Who decides that a turn is over. `session`: the recognizer proposes it and voice detection must agree. `engine`: the
     * engine, or its provider, decides alone.
     */
    endsTurns: 'session' | 'engine';
    /** `provider`: it ends turns, too, and begins a reply after each by itself, unless it is told not to. */
    startsReplies?: 'session' | 'provider';
    /**
     * `engine`: it knows what is asked, and so which digits are a whole answer. Who gives one needs no introduction, words
     * take its place, and an end digit that ends nothing is only kept.
     */
    completesDigits?: 'session' | 'engine';
  };
  voicemail: { action: 'hang_up' | 'leave_message' | 'continue'; hasMessage: boolean };
  /** Somebody calls us: the agent answers, so no answering machine can have. */
  isInbound?: boolean;
  /** The call goes on after its stream was lost. */
  resumed: boolean;
  /** The caller has heard the introduction on an earlier stream. */
  introduced: boolean;
}

/** The caller's voice that belongs to no turn yet; stream times unless the name says `At`. */
export interface OpenVoice {
  startMs: number;
  endMs: number;
  /** When it began, by the session's clock. */
  sinceAtMs: number;
  /**
   * When the last of it came, or was handed to another recognizer. Silence counts from here and not from `endMs`: the
   * recognizer cannot know frames that come late any sooner than we do.
   */
  cameAtMs: number;
  ended: boolean;
  answered: boolean;
  hurried: boolean;
}

export interface LineItem {
  id: string;
  kind: ItemKind;
  queuedMs: number;
  queuedAtMs: number;
  startedAtMs?: number;
  playedMs: number;
  /** No more audio will come. */
  isWhole: boolean;
  /** When all that came of it can have been heard at the earliest. */
  endsAtMs: number;
}

/** How the session ends, once that is decided. Nothing the caller says changes it. */
export interface ClosingState {
  /** Emitted when the last line was heard or cannot be; absent once it was emitted. */
  end?: Extract<SessionCommand, { type: 'end' | 'fail' }>;
  /** The item of the last line, or the reply that says it. */
  lastItemId?: string;
  lastReplyId?: string;
  line?: 'silent_goodbye' | 'sorry';
  /** After the last item the far end may hang up first, for so long. */
  lingersMs?: number;
  /** The last item was heard. */
  isLingering?: boolean;
  /** Ways to say the line that were not tried yet. */
  otherWays: readonly ('voice' | 'prepared')[];
  untilMs?: number;
}

/** What a session knows of a provider that starts replies. */
export interface ProviderReplies {
  /** Whether it answers the caller by itself, as it was told last. */
  answers: boolean;
  /** Replies are scarce: it is asked for each until there are enough again. */
  isScarce: boolean;
  /** Since when it owes a reply that it begins by itself. */
  awaitedSinceMs?: number;
  toolsAtWork: number;
}

export interface SessionState {
  setup: SessionSetup;
  /** Numbers items and replies. */
  count: number;
  stopped: boolean;
  turns: {
    words: string;
    wordsAtMs: number;
    mayEnd?: string;
    voice?: OpenVoice;
    /** Voice detection has an open turn: the caller speaks, or paused a moment ago. */
    isOpen: boolean;
    /** Voice is coming right now. */
    isVoiced: boolean;
    lastVoiceAtMs: number;
    /** Voice before this belongs to turns that are over; stream time. */
    overUntilMs: number;
    /** Turns and DTMF entries that no answering machine would make. */
    byPerson: number;
  };
  reply?: {
    id: string;
    kind: ItemKind;
    confirmed: boolean;
    running: boolean;
    hasAudio: boolean;
    /** The words an unconfirmed reply answers. */
    heard?: string;
  };
  /** The caller waits for an answer: since when, and when their words were known to be the whole turn. */
  waiting?: { sinceMs: number; knownMs: number };
  /** What the model is told if no words come of the caller's voice. */
  owed?: 'rest' | 'question';
  /** The caller has not been told yet that the call will be ended. */
  mustWrapUp: boolean;
  playback: {
    /** On the line, in order. */
    items: readonly LineItem[];
    /** Lines asked for whose audio has not come. */
    expected: readonly { id: string; kind: ItemKind }[];
    /** Items of which nothing is sent any more. */
    closed: ReadonlySet<string>;
    lastOverAtMs: number;
    heardAnything: boolean;
  };
  introduction: { heard: boolean; attempts: number };
  silence: { quietSinceMs: number; prompted: boolean };
  dtmf: {
    digits: string;
    firstAtMs: number;
    lastAtMs: number;
    /** They are whole by the engine's word. */
    isWhole?: boolean;
    completedAtMs?: number;
  };
  replies: ReplyCount;
  /** An answer waits until there is room for another reply. */
  isReplyDue: boolean;
  /** What the reply is for that was begun last, or is due. */
  task: ReplyTask;
  /** Of a provider that starts replies. */
  provider: ProviderReplies;
  /** `isSaid`: nothing else was said after a filler, nor anything asked anew. */
  filler: { dueMs?: number; isSaid: boolean };
  voicemail: {
    met: boolean;
    waitingSinceMs?: number;
    /** The last tone, by its end in stream time; absent: none was heard, or somebody spoke after it. */
    tone?: { endMs: number; heardAtMs: number };
    carrierSays?: AnsweredBy;
  };
  closing?: ClosingState;
  /** Timers that run, and when they are due. */
  timers: Partial<Record<SessionTimer, number>>;
}

/** A state and what led to it wants done. */
export type SessionStep = readonly [SessionState, readonly SessionCommand[]];

export function newSession(setup: SessionSetup): SessionState {
  return {
    setup,
    count: 0,
    stopped: false,
    turns: {
      words: '',
      wordsAtMs: 0,
      isOpen: false,
      isVoiced: false,
      lastVoiceAtMs: 0,
      overUntilMs: 0,
      byPerson: 0,
    },
    mustWrapUp: false,
    playback: { items: [], expected: [], closed: new Set(), lastOverAtMs: 0, heardAnything: false },
    introduction: { heard: setup.introduced, attempts: 0 },
    silence: { quietSinceMs: 0, prompted: false },
    dtmf: { digits: '', firstAtMs: 0, lastAtMs: 0 },
    replies: { left: setup.policy.replies.atOnce, atMs: 0 },
    isReplyDue: false,
    task: 'go_on',
    provider: { answers: true, isScarce: false, toolsAtWork: 0 },
    filler: { isSaid: false },
    voicemail: { met: false },
    timers: {},
  };
}

/** Takes one step after the other and collects their commands. */
export function inOrder(
  start: SessionState | SessionStep,
  ...steps: readonly ((state: SessionState) => SessionState | SessionStep)[]
): SessionStep {
  let [state, commands] = stepOf(start);
  for (const step of steps) {
    const [next, more] = stepOf(step(state));
    state = next;
    if (more.length > 0) commands = [...commands, ...more];
  }
  return [state, commands];
}

function stepOf(step: SessionState | SessionStep): SessionStep {
  return isStep(step) ? step : [step, []];
}

function isStep(step: SessionState | SessionStep): step is SessionStep {
  return Array.isArray(step);
}

/** The state without one of its optional fields. */
export function without<K extends 'reply' | 'waiting' | 'owed' | 'closing'>(state: SessionState, key: K): SessionState {
  const { [key]: _, ...rest } = state;
  return rest as SessionState;
}

export const isClosing = (state: SessionState) => state.stopped || state.closing !== undefined;
export const isAgentSpeaking = ({ playback }: SessionState) => playback.items.length > 0;
export const isOnlyFilling = ({ playback }: SessionState) =>
  playback.items.length > 0 && playback.items.every(({ kind }) => kind === 'filler');
export const completesDigits = ({ setup }: SessionState) => setup.capabilities.completesDigits === 'engine';
export const startsReplies = ({ setup }: SessionState) => setup.capabilities.startsReplies === 'provider';
/** Also one that waits for room, or that the provider owes. */
export const isReplyRunning = ({ reply, isReplyDue, provider }: SessionState) =>
  isReplyDue || reply?.running === true || provider.awaitedSinceMs !== undefined;
/** Somebody speaks, or an answer is being made. */
export const isBusy = (state: SessionState) =>
  isClosing(state) ||
  isAgentSpeaking(state) ||
  isReplyRunning(state) ||
  state.turns.isOpen ||
  state.provider.toolsAtWork > 0;
/** The provider owes no reply. */
export function withoutAwaited(state: SessionState): SessionState {
  const { awaitedSinceMs: _, ...provider } = state.provider;
  return { ...state, provider };
}
/** Whether audio of this item may go to the line. */
export const isOnLine = ({ playback }: SessionState, itemId: string) => playback.items.some(({ id }) => id === itemId);
