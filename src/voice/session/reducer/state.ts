import type { AnsweredBy } from '../../../kernel/call-state.js';
import type { SessionCommand } from './commands.js';
import type { ItemKind, ReplyTask, SessionTimer } from './kinds.js';
import type { SessionPolicy } from './policy.js';
import type { ReplyCount } from './reply-budget.js';

/** The fixed properties of a session. */
export interface SessionSetup {
  policy: SessionPolicy;
  capabilities: {
    /**
     * What ends a turn. `session`: STT proposes the end and VAD must agree. `engine`: the engine or its provider
     * decides alone.
     */
    endsTurns: 'session' | 'engine';
    /** `provider`: it ends turns and begins a reply after each by itself, unless it must not. */
    startsReplies?: 'session' | 'provider';
    /**
     * `engine`: it knows the question, and so which digits are a complete answer. Such an answer makes the introduction
     * unnecessary, spoken words replace it, and an end digit that completes nothing is only stored.
     */
    completesDigits?: 'session' | 'engine';
  };
  voicemail: { action: 'hang_up' | 'leave_message' | 'continue'; hasMessage: boolean };
  /** An inbound call: the agent answers, so there is no answering machine. */
  isInbound?: boolean;
  /** The call continues after its stream was lost. */
  resumed: boolean;
  /** The caller heard the introduction on an earlier stream. */
  introduced: boolean;
}

/** The caller's voice that belongs to no finished turn; stream times unless the name contains `At`. */
export interface OpenVoice {
  startMs: number;
  endMs: number;
  /** When it began, on the session's clock. */
  sinceAtMs: number;
  /**
   * When its last audio arrived, or was passed to a new STT stream. Silence counts from here and not from `endMs`,
   * because STT receives late frames no sooner than we do.
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
  /** No more audio will arrive. */
  isWhole: boolean;
  /** The earliest time when all audio so far has played. */
  endsAtMs: number;
}

/** How the session ends, once decided. The caller's speech does not change it. */
export interface ClosingState {
  /** Emitted once the last sentence has played or failed; absent after that. */
  end?: Extract<SessionCommand, { type: 'end' | 'fail' }>;
  /** The item of the last sentence, or the reply that contains it. */
  lastItemId?: string;
  lastReplyId?: string;
  line?: 'silent_goodbye' | 'sorry';
  /** How long the remote party may hang up first after the last item, in ms. */
  lingersMs?: number;
  /** The last item has played. */
  isLingering?: boolean;
  /** Ways to say the sentence that were not tried yet. */
  otherWays: readonly ('voice' | 'prepared')[];
  untilMs?: number;
}

/** State of a provider that starts replies. */
export interface ProviderReplies {
  /** Whether it may answer the caller by itself, as last commanded. */
  answers: boolean;
  /** The reply budget is low: replies are requested one by one until it has recovered. */
  isScarce: boolean;
  /** Since when it owes a reply that it begins by itself. */
  awaitedSinceMs?: number;
  toolsAtWork: number;
}

export interface SessionState {
  setup: SessionSetup;
  /** Counter for the ids of items and replies. */
  count: number;
  stopped: boolean;
  turns: {
    words: string;
    wordsAtMs: number;
    mayEnd?: string;
    voice?: OpenVoice;
    /** VAD has an open turn: the caller is speaking, or paused a moment ago. */
    isOpen: boolean;
    /** VAD detects voice right now. */
    isVoiced: boolean;
    lastVoiceAtMs: number;
    /** End of the last finished turn; earlier voice belongs to it. Stream time. */
    overUntilMs: number;
    /** DTMF entries, and turns that the engine takes for a person's: the offline engine only those it understood. */
    byPerson: number;
  };
  reply?: {
    id: string;
    kind: ItemKind;
    confirmed: boolean;
    running: boolean;
    hasAudio: boolean;
    /** The words that an unconfirmed reply answers. */
    heard?: string;
  };
  /** The caller waits for a reply: since when, and when the session knew the whole turn. */
  waiting?: { sinceMs: number; knownMs: number };
  /** Note to send to the model if the caller's voice turns out to be without words. */
  owed?: 'rest' | 'question';
  /** The model must still announce that the call will be ended. */
  mustWrapUp: boolean;
  playback: {
    /** Items on the line, in order. */
    items: readonly LineItem[];
    /** Requested items without audio yet. */
    expected: readonly { id: string; kind: ItemKind }[];
    /** Items that send no more audio. */
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
    /** The engine reported that they form a complete entry. */
    isWhole?: boolean;
    completedAtMs?: number;
  };
  replies: ReplyCount;
  /** A reply waits for budget. */
  isReplyDue: boolean;
  /** The task of the last reply requested, or of the next one. */
  task: ReplyTask;
  /** Used only with a provider that starts replies. */
  provider: ProviderReplies;
  /** `isSaid`: a filler was the last thing the agent said, and the caller has not said anything new since. */
  filler: { dueMs?: number; isSaid: boolean };
  voicemail: {
    met: boolean;
    waitingSinceMs?: number;
    /** The last tone, by its end in stream time; absent if none was heard, or if someone spoke after it. */
    tone?: { endMs: number; heardAtMs: number };
    carrierSays?: AnsweredBy;
  };
  closing?: ClosingState;
  /** Running timers, and when they are due. */
  timers: Partial<Record<SessionTimer, number>>;
}

/** A new state, and the commands to perform. */
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

/** Runs steps in sequence and collects their commands. */
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
/** Includes a reply that waits for budget or that the provider owes. */
export const isReplyRunning = ({ reply, isReplyDue, provider }: SessionState) =>
  isReplyDue || reply?.running === true || provider.awaitedSinceMs !== undefined;
/** Someone speaks, a reply is being prepared, a tool runs, or the session is closing. */
export const isBusy = (state: SessionState) =>
  isClosing(state) ||
  isAgentSpeaking(state) ||
  isReplyRunning(state) ||
  state.turns.isOpen ||
  state.provider.toolsAtWork > 0;
/** The state without the provider's owed reply. */
export function withoutAwaited(state: SessionState): SessionState {
  const { awaitedSinceMs: _, ...provider } = state.provider;
  return { ...state, provider };
}
/** Whether audio of this item may be sent. */
export const isOnLine = ({ playback }: SessionState, itemId: string) => playback.items.some(({ id }) => id === itemId);
