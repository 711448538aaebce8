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
     * Says what decides the end of a turn. `session`: STT proposes the end and VAD must agree. `engine`: the engine or
     * its provider decides alone.
     */
    endsTurns: 'session' | 'engine';
    /** `provider`: the provider ends turns and begins a reply after each turn without a request, unless it must not. */
    startsReplies?: 'session' | 'provider';
    /**
     * `engine`: the engine decides when DTMF digits are complete, because it knows the question. A complete answer
     * makes the introduction unnecessary. Speech replaces digits, and an end digit without other digits is only
     * stored.
     */
    completesDigits?: 'session' | 'engine';
  };
  voicemail: { action: 'hang_up' | 'leave_message' | 'continue'; hasMessage: boolean };
  /** How the conversation begins, if the agent's settings say. */
  opening?: {
    /** Whether the agent waits until the caller has spoken. */
    waitsForCaller?: boolean;
    /** Whether the agent introduces itself with a fixed message, in place of words of the model. */
    hasMessage?: boolean;
  };
  /** Whether the call is inbound. Then the agent answers, so there is no answering machine. */
  isInbound?: boolean;
  /** Whether the call continues after its stream was lost. */
  resumed: boolean;
  /** Whether the caller heard the introduction on an earlier stream. */
  introduced: boolean;
  /**
   * Set if another engine began the call on the same stream, so that the caller noticed no interruption: whether the
   * caller spoke last, and waits for an answer.
   */
  takesOver?: 'question' | 'rest';
  /** Evidence from the turns with that engine, unless it took the person for a machine. */
  person?: PersonEvidence;
  /** Whether another engine continues the call if this session fails, so that it says no apology. */
  hasSuccessor?: boolean;
}

/** Evidence that a person has answered, from the turns of a call. */
export interface PersonEvidence {
  /** Number of DTMF entries, and of turns that prove a person, such as those that the offline engine understood. */
  personTurns: number;
  /** How many of them followed words of the agent that the remote party had heard to their end. */
  answers: number;
  /** Whether an item of the agent has been played to its end since the last of them. */
  agentHeard: boolean;
}

/** Voice of the caller that belongs to no finished turn. Times are in stream time unless the name contains `At`. */
export interface OpenVoice {
  startMs: number;
  endMs: number;
  /** When the voice began, on the session's clock. */
  sinceAtMs: number;
  /**
   * When the last audio of the voice arrived or was sent to a new STT stream. Timeouts for STT count from here and not
   * from `endMs`, because STT receives late frames no sooner than we do.
   */
  lastAudioAtMs: number;
  ended: boolean;
  hasResponse: boolean;
  isFinalizeRequested: boolean;
}

export interface PlaybackItem {
  id: string;
  kind: ItemKind;
  queuedMs: number;
  queuedAtMs: number;
  startedAtMs?: number;
  playedMs: number;
  /** Whether all audio of the item has arrived. */
  isWhole: boolean;
  /** The earliest time at which all audio so far can have played. */
  endsAtMs: number;
}

/** How the session ends, once that is decided. The caller's speech does not change the decision. */
export interface ClosingState {
  /** The command to emit when the last sentence has played or failed; absent after that. */
  end?: Extract<SessionCommand, { type: 'end' | 'fail' }>;
  /** The item of the last sentence, or the reply that contains it. */
  lastItemId?: string;
  lastReplyId?: string;
  phrase?: 'silence_goodbye' | 'apology';
  /** How long the remote party may hang up first after the last item, in ms. */
  lingersMs?: number;
  /** Whether the last item has played and the remote party may hang up first. */
  isLingering?: boolean;
  /** Ways to say the sentence that were not tried yet. */
  otherWays: readonly ('voice' | 'prepared')[];
  untilMs?: number;
}

/** State of a provider that starts replies. */
export interface ProviderReplies {
  /** Whether the provider may answer the caller without a request, according to the last command. */
  mayReply: boolean;
  /** Whether few replies are left, so that they are requested one by one until more are available. */
  isScarce: boolean;
  /** Since when the session has waited for a reply that the provider should begin without a request. */
  awaitedSinceMs?: number;
  runningTools: number;
}

export interface SessionState {
  setup: SessionSetup;
  /** Counter for the ids of items and replies. */
  count: number;
  stopped: boolean;
  turns: PersonEvidence & {
    words: string;
    wordsAtMs: number;
    mayEnd?: string;
    voice?: OpenVoice;
    /** Whether VAD has an open turn, because the caller is speaking or paused a moment ago. */
    isOpen: boolean;
    /** When the last turn opened. */
    openedAtMs: number;
    /** Whether VAD detects voice at the moment. */
    isVoiced: boolean;
    lastVoiceAtMs: number;
    /** End of the last finished turn, in stream time. Earlier voice belongs to that turn. */
    overUntilMs: number;
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
  /** Set while the caller waits for a reply: since when, and when the session knew the whole turn. */
  waiting?: { sinceMs: number; knownMs: number };
  /** Note to send to the model if the caller's voice turns out to be without words. */
  pendingNote?: 'rest' | 'question';
  /** Whether the model must still announce that the call will be ended. */
  mustWrapUp: boolean;
  playback: {
    /** Items whose audio was sent and has not ended, in order. */
    items: readonly PlaybackItem[];
    /** Requested items without audio yet. */
    expected: readonly { id: string; kind: ItemKind }[];
    /** Items that send no more audio. */
    closed: ReadonlySet<string>;
    lastOverAtMs: number;
    hasPlayed: boolean;
  };
  introduction: { heard: boolean; attempts: number };
  silence: { quietSinceMs: number; prompted: boolean };
  dtmf: {
    digits: string;
    firstAtMs: number;
    lastAtMs: number;
    /** Whether the engine reported that the digits form a complete entry. */
    isWhole?: boolean;
    completedAtMs?: number;
  };
  replies: ReplyCount;
  /** Whether a reply waits because the reply budget is used up. */
  isReplyDue: boolean;
  /** The task of the last reply requested, or of the next one. */
  task: ReplyTask;
  /** Used only with a provider that starts replies. */
  provider: ProviderReplies;
  /** `isSaid`: a filler was the last thing the agent said, and the caller has not said anything new since. */
  filler: { dueMs?: number; isSaid: boolean };
  voicemail: {
    isDetected: boolean;
    waitingSinceMs?: number;
    /** The last tone; `endMs` is in stream time. Absent if no tone was heard, or if speech followed the tone. */
    tone?: { endMs: number; detectedAtMs: number };
    carrierResult?: AnsweredBy;
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
      openedAtMs: 0,
      isVoiced: false,
      lastVoiceAtMs: 0,
      overUntilMs: 0,
      personTurns: 0,
      answers: 0,
      agentHeard: false,
      ...setup.person,
    },
    mustWrapUp: false,
    playback: { items: [], expected: [], closed: new Set(), lastOverAtMs: 0, hasPlayed: false },
    introduction: { heard: setup.introduced, attempts: 0 },
    silence: { quietSinceMs: 0, prompted: false },
    dtmf: { digits: '', firstAtMs: 0, lastAtMs: 0 },
    replies: { left: setup.policy.replies.atStart, atMs: 0 },
    isReplyDue: false,
    task: 'continue',
    provider: { mayReply: true, isScarce: false, runningTools: 0 },
    filler: { isSaid: false },
    voicemail: { isDetected: false },
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
export function without<K extends 'reply' | 'waiting' | 'pendingNote' | 'closing'>(
  state: SessionState,
  key: K,
): SessionState {
  const { [key]: _, ...rest } = state;
  return rest as SessionState;
}

export const isClosing = (state: SessionState) => state.stopped || state.closing !== undefined;
export const isAgentSpeaking = ({ playback }: SessionState) => playback.items.length > 0;
export const isOnlyFiller = ({ playback }: SessionState) =>
  playback.items.length > 0 && playback.items.every(({ kind }) => kind === 'filler');
export const engineCompletesDigits = ({ setup }: SessionState) => setup.capabilities.completesDigits === 'engine';
export const providerStartsReplies = ({ setup }: SessionState) => setup.capabilities.startsReplies === 'provider';
/** Whether a reply is being made. Replies that wait for the budget or are expected from the provider count, too. */
export const isReplyRunning = ({ reply, isReplyDue, provider }: SessionState) =>
  isReplyDue || reply?.running === true || provider.awaitedSinceMs !== undefined;
/** Whether the agent speaks, a reply is being prepared, a tool runs, or the session is ending. */
export const isAgentBusy = (state: SessionState) =>
  isClosing(state) || isAgentSpeaking(state) || isReplyRunning(state) || state.provider.runningTools > 0;
/** Whether the agent is busy or the caller speaks. */
export const isBusy = (state: SessionState) => isAgentBusy(state) || state.turns.isOpen;
/** The state in which no reply is expected from the provider. */
export function withoutAwaitedReply(state: SessionState): SessionState {
  const { awaitedSinceMs: _, ...provider } = state.provider;
  return { ...state, provider };
}
/** Whether the item has sent audio and was not closed. */
export const isOnLine = ({ playback }: SessionState, itemId: string) => playback.items.some(({ id }) => id === itemId);

/** Counts a turn that proves a person, and whether it answers the agent. */
export function countPersonTurn(state: SessionState): SessionState {
  return { ...state, turns: { ...state.turns, ...withPersonTurn(state.turns) } };
}

/** The evidence after one more turn that proves a person. */
export function withPersonTurn({ personTurns, answers, agentHeard }: PersonEvidence): PersonEvidence {
  return { personTurns: personTurns + 1, answers: answers + (agentHeard ? 1 : 0), agentHeard: false };
}
