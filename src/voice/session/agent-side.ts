import type { MediaEndReason } from '../../kernel/call-state.js';
import type { Engine, EngineCall, EngineSink } from '../engines/port.js';
import { createToolHost, type ToolHostDeps } from '../tools/tool-host.js';
import { createKeyTones, type KeyTones } from './key-tones.js';
import type { KeptTalk, KeptTalkDeps } from './kept-talk.js';
import { createLeaving, type Leaving } from './leaving.js';
import { createPlayback, type Playback } from './playback.js';

type AgentSideDeps = Pick<KeptTalkDeps, 'stream' | 'request' | 'engine' | 'logger'> & {
  tools: ToolHostDeps;
  call: EngineCall;
  kept: KeptTalk;
  /** Ms from the start of the stream. */
  now: () => number;
  /** Whether the conversation has ended. */
  isOver: () => boolean;
  /** Calls the engine; an engine that throws ends only its own call. */
  tellEngine: (tell: (engine: Engine) => void) => void;
  /** Ends the conversation immediately. */
  end: (reason: MediaEndReason) => void;
};

/** The agent's side of a session: its audio and its tools, until it leaves the call. */
export function createAgentSide(p: AgentSideDeps) {
  const { kept, now, isOver, tellEngine } = p;
  const { record, recorder } = kept;

  function checkpoint(when?: 'at once'): void {
    if (!isOver()) kept.checkpoint(when);
  }

  const playback = createPlayback({
    line: p.stream,
    now,
    onPlayed(itemId, playedMs, complete) {
      if (!keyTones.onPlayed(itemId, complete)) tellEngine((engine) => engine.onPlayed(itemId, playedMs, complete));
    },
    onAudioPlayed(mulaw, atMs) {
      recorder?.put('agent', mulaw, atMs);
      // Billing depends on whether the caller heard the agent, so store the first playback at once.
      if (record.markPlayed()) checkpoint('at once');
    },
  });
  const keyTones = createKeyTones(playback);
  const leaving = createLeaving({
    now,
    remainingMs: () => playback.remainingMs(),
    onEndingSoon: (secondsLeft) => tellEngine((engine) => engine.onEndingSoon?.(secondsLeft)),
  });
  const isTalking = () => !isOver() && leaving.reason() === undefined;
  const tools = createToolHost(p.tools, p.request, p.call.tools, {
    end: () => leaving.afterLastWord('agent_hangup'),
    transfer(to) {
      if (!isTalking()) return false;
      record.setTransfer(to);
      leaving.afterLastWord('transferred');
      return true;
    },
    playTones: (mulaw) => (isTalking() ? keyTones.play(mulaw) : Promise.resolve(false)),
  });

  return {
    playback,
    sink: sinkOf({ ...p, playback, keyTones, leaving, checkpoint, tool: (call) => tools.run(call) }),
    endsAt: (atMs: number | undefined) => leaving.endsAt(atMs),

    /** Sends the audio that is due. @returns the reason to end the conversation now, if any */
    tick(dueMs: number): MediaEndReason | undefined {
      playback.pump(dueMs);
      recorder?.advance(now());
      leaving.tellOfEnd();
      return leaving.dueReason(playback.isIdle());
    },
  };
}

/** The engine's interface to its call. */
function sinkOf(
  p: AgentSideDeps & {
    playback: Playback;
    keyTones: KeyTones;
    leaving: Leaving;
    checkpoint: (when?: 'at once') => void;
    tool: EngineSink['tool'];
  },
): EngineSink {
  const { playback, leaving, checkpoint, engine, logger } = p;
  const { record } = p.kept;
  const callId = p.request._id;
  return {
    audio(itemId, mulaw) {
      if (leaving.reason() !== undefined) return;
      playback.enqueue(itemId, mulaw);
      playback.pump();
    },
    endOfItem: (itemId) => playback.endItem(itemId),
    clear() {
      playback.clear();
      p.keyTones.dropped();
    },
    transcript(turn) {
      record.addTurn(turn);
      checkpoint();
    },
    values(values) {
      record.setValues(values);
      checkpoint();
    },
    latency(latency) {
      record.addLatency(latency);
      logger.debug({ callId, totalMs: latency.totalMs, parts: latency.parts }, 'reply');
    },
    answeredBy(who) {
      record.setHeard(who);
      // At once: a process that takes over the call must know that an answering machine answered.
      checkpoint('at once');
    },
    tool: p.tool,
    end: (reason) => leaving.afterLastWord(reason),
    fail(error) {
      logger.error({ callId, engine: engine.name, err: error }, 'the engine failed');
      // Once an end reason is decided, the engine is no longer needed.
      p.end(leaving.reason() ?? 'media_failed');
    },
  };
}
