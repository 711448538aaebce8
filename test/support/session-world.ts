import type { SessionCommand } from '../../src/voice/session/reducer/commands.js';
import type { SessionEvent, SessionEventBody } from '../../src/voice/session/reducer/events.js';
import type { SessionTimer } from '../../src/voice/session/reducer/kinds.js';
import { SESSION_POLICY } from '../../src/voice/session/reducer/policy.js';
import { reduceSession } from '../../src/voice/session/reducer/reduce.js';
import { newSession, type SessionSetup, type SessionState } from '../../src/voice/session/reducer/state.js';

export const SETUP: SessionSetup = {
  policy: SESSION_POLICY,
  capabilities: { endsTurns: 'session' },
  voicemail: { action: 'hang_up', hasMessage: false },
  resumed: false,
  introduced: false,
};

/** How the simulated providers and the simulated carrier behave. */
export interface WorldHabits {
  /** How long the agent speaks in each reply or spoken phrase, ms. With 0, the reply or phrase fails without speech. */
  speechMs: number;
  /** How long the audio takes after a request, ms. */
  afterMs: number;
  /** Whether the carrier returns all marks, none, or all except the last one of each item. */
  marks: boolean | 'all but the last';
}

const HABITS: WorldHabits = { speechMs: 3_000, afterMs: 300, marks: true };
const MARK_EVERY_MS = 200;
/** If more timers are due at the same time, the session is in an endless loop. */
const MAX_TIMERS_AT_ONCE = 50;

type ProducedCommand = {
  command: SessionCommand;
  atMs: number;
  kind: string | undefined;
  before: SessionState;
  after: SessionState;
};
type Play = { itemId: string; leftMs: number; playedMs: number; ended: boolean };

/**
 * A session with a simulated clock and everything around it simulated. LLM and TTS respond after a delay, the carrier
 * plays audio and returns marks, and timers fire when they are due. Only `pass` advances the clock.
 */
export function openWorld(setup: Partial<SessionSetup> = {}, habits: Partial<WorldHabits> = {}) {
  const how = { ...HABITS, ...habits };
  let state: SessionState = newSession({ ...SETUP, ...setup });
  let atMs = 0;
  let later: { atMs: number; what: SessionEventBody }[] = [];
  const timers = new Map<SessionTimer, number>();
  const waiting = new Map<string, number[]>();
  const cancelled = new Set<string>();
  let line: Play[] = [];

  const world = {
    events: [] as SessionEvent[],
    /**
     * The commands of the session, each with the states before and after the step that produced it. Commands that send
     * audio also have the kind of the item.
     */
    commands: [] as ProducedCommand[],
    now: () => atMs,
    state: () => state,
    of: <T extends SessionCommand['type']>(type: T) =>
      world.commands.flatMap(({ command }) =>
        command.type === type ? [command as Extract<SessionCommand, { type: T }>] : [],
      ),
    stored: () => world.of('store_turn').map(({ speaker, text }) => `${speaker}: ${text}`),
    isPlaying: () => line.length > 0,
    happens(what: SessionEventBody): void {
      const event = { ...what, atMs } as SessionEvent;
      if (event.type === 'item_audio') waiting.set(event.itemId, [...(waiting.get(event.itemId) ?? []), event.ms]);
      world.events.push(event);
      const before = state;
      const [next, commands] = reduceSession(state, event);
      const kindOf = (itemId: string) =>
        next.playback.items.find(({ id }) => id === itemId)?.kind ??
        commands.flatMap((each) => (each.type === 'close_item' && each.itemId === itemId ? [each.kind] : []))[0];
      state = next;
      for (const command of commands) {
        const kind = command.type === 'send_audio' ? kindOf(command.itemId) : undefined;
        world.commands.push({ command, atMs, kind, before, after: next });
      }
      for (const command of commands) perform(command);
    },
    /** Advances the clock in steps of 20 ms. */
    pass(ms: number): void {
      for (const until = atMs + ms; atMs < until;) {
        atMs += 20;
        const due = later.filter((each) => each.atMs <= atMs);
        later = later.filter((each) => each.atMs > atMs);
        for (const { what } of due) if (!isCancelled(what)) world.happens(what);
        fireTimers();
        play();
      }
    },
    /** Lets the caller speak for `ms` and then pause. With `hushes`, the end of the speech is reported 600 ms later. */
    speaks(ms: number): void {
      const startMs = atMs;
      world.pass(160);
      world.happens({ type: 'voice_started', startMs, streamMs: atMs });
      world.pass(ms - 160);
      world.happens({ type: 'voice_paused', endMs: atMs, lastVoiceAtMs: atMs });
    },
    fallsSilent(): void {
      world.pass(600);
      world.happens({ type: 'voice_ended', streamMs: atMs });
    },
    says(text: string, ms = 800): void {
      world.speaks(ms);
      world.happens({ type: 'words', text, streamMs: atMs });
      world.happens({ type: 'turn_may_end', text, streamMs: atMs });
      world.fallsSilent();
    },
    presses: (digits: string) => digits.split('').forEach((digit) => world.happens({ type: 'dtmf_digit', digit })),
  };

  /** Fires timers that are due, including timers that they set for the same time. Stops at a maximum number. */
  function fireTimers(): void {
    let fired = 0;
    for (const [timer, dueMs] of timers) {
      if (dueMs > atMs || timers.get(timer) !== dueMs) continue;
      fired += 1;
      if (fired > MAX_TIMERS_AT_ONCE) throw new Error(`the session comes to no rest: its timer ${timer} at ${atMs} ms`);
      timers.delete(timer);
      world.happens({ type: 'timer', timer });
    }
  }

  function isCancelled(what: SessionEventBody): boolean {
    if ('replyId' in what && what.replyId !== undefined && cancelled.has(what.replyId)) return true;
    return 'itemId' in what && cancelled.has(what.itemId);
  }

  function schedule(afterMs: number, what: SessionEventBody): void {
    later.push({ atMs: atMs + afterMs, what });
  }

  function speaks(itemId: string, replyId?: string): void {
    const { afterMs, speechMs: ms } = how;
    const ofReply = replyId === undefined ? {} : { replyId };
    schedule(afterMs, { type: 'item_audio', itemId, ms, ...ofReply });
    schedule(afterMs, { type: 'item_whole', itemId });
  }

  function reply(replyId: string): void {
    if (how.speechMs === 0) {
      return schedule(how.afterMs, {
        type: 'reply_failed',
        replyId,
        part: 'model',
        message: 'the language model provider returned an empty reply',
      });
    }
    schedule(how.afterMs, { type: 'reply_heard', replyId, times: { startedMs: atMs } });
    speaks(`${replyId}.0`, replyId);
    return schedule(how.afterMs, { type: 'reply_done', replyId });
  }

  function perform(command: SessionCommand): void {
    switch (command.type) {
      case 'start_timer':
        return void timers.set(command.timer, command.dueMs);
      case 'stop_timer':
        return void timers.delete(command.timer);
      case 'request_reply':
        return command.confirmed ? reply(command.replyId) : undefined;
      case 'confirm_reply':
        return reply(command.replyId);
      case 'cancel_reply':
        return void cancelled.add(command.replyId);
      case 'say':
        if (how.speechMs > 0) return speaks(command.itemId);
        return schedule(how.afterMs, {
          type: 'item_failed',
          itemId: command.itemId,
          part: 'voice',
          message: 'the text-to-speech provider is mute',
        });
      case 'send_audio': {
        const ms = waiting.get(command.itemId)?.shift() ?? 0;
        const known = line.find(({ itemId }) => itemId === command.itemId);
        if (known !== undefined) known.leftMs += ms;
        else line.push({ itemId: command.itemId, leftMs: ms, playedMs: 0, ended: false });
        return undefined;
      }
      case 'end_item': {
        const item = line.find(({ itemId }) => itemId === command.itemId);
        if (item !== undefined) item.ended = true;
        return undefined;
      }
      case 'clear':
        line = [];
        return undefined;
      case 'close_item': {
        const { itemId, kind, playedMs, complete, startMs } = command;
        cancelled.add(itemId);
        const text = playedMs > 0 ? `${kind} ${itemId}` : '';
        return schedule(0, {
          type: 'item_words',
          itemId,
          text,
          complete,
          startMs,
          endMs: startMs + Math.round(playedMs),
        });
      }
      case 'run_tool':
        return schedule(how.afterMs, { type: 'tool_finished', endsCall: command.name === 'end_call', ok: true });
      default:
        return undefined;
    }
  }

  function play(): void {
    const [head] = line;
    if (head === undefined) return;
    const ms = Math.min(20, head.leftMs);
    head.leftMs -= ms;
    head.playedMs += ms;
    const complete = head.ended && head.leftMs === 0;
    if (complete) line = line.filter((item) => item !== head);
    const isMarked = complete || (ms > 0 && head.playedMs % MARK_EVERY_MS === 0);
    const isLost = how.marks === false || (complete && how.marks === 'all but the last');
    if (isMarked && !isLost) {
      world.happens({ type: 'item_played', itemId: head.itemId, playedMs: head.playedMs, complete });
    }
  }

  return world;
}

export type World = ReturnType<typeof openWorld>;

/** Opens a session and plays the agent's introduction to its end. */
export function introducedWorld(setup: Partial<SessionSetup> = {}, habits: Partial<WorldHabits> = {}): World {
  const world = openWorld(setup, habits);
  world.happens({ type: 'line_opened' });
  world.pass(4_000);
  return world;
}

/**
 * Finds fillers that were sent one after another, without other audio and without a new turn of the caller in between.
 * @returns the ids of all fillers of such a series except the first
 */
export function fillersInARow({ commands, events }: World): string[] {
  const inARow: string[] = [];
  let last: { itemId: string; atMs: number } | undefined;
  for (const { command, kind, atMs } of commands) {
    const sinceMs = last?.atMs ?? 0;
    const isTurn = command.type === 'store_turn' && command.speaker === 'caller';
    if (isTurn || events.some((event) => event.type === 'turn_over' && event.atMs >= sinceMs && event.atMs <= atMs)) {
      last = undefined;
    }
    if (command.type !== 'send_audio') continue;
    if (kind === 'filler' && last !== undefined && last.itemId !== command.itemId) inARow.push(command.itemId);
    last = kind === 'filler' ? { itemId: command.itemId, atMs } : undefined;
  }
  return inARow;
}
