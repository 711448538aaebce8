import { report } from '../../platform/telemetry/measurements.js';
import { createBackgroundSound, type BackgroundLoops } from '../audio/background-sound.js';
import type { MediaEndReason } from '../../kernel/call-state.js';
import { blameOf } from '../engines/chain/blame.js';
import type { Engine, EngineCall, EngineSink } from '../engines/port.js';
import { createToolHost, type ToolHostDeps } from '../tools/tool-host.js';
import { createDtmfPlayback, type DtmfPlayback } from './dtmf-playback.js';
import type { SessionStorage, SessionStorageDeps } from './session-storage.js';
import { createSessionEnd, type SessionEnd } from './session-end.js';
import { createPlayback, type Playback } from './playback.js';

/** Without trusted marks, the agent counts as heard when its first audio was sent this long ago. */
const HEARD_AFTER_MS = 1_000;

type AgentSideDeps = Pick<SessionStorageDeps, 'stream' | 'request' | 'engine' | 'logger'> & {
  tools: ToolHostDeps;
  backgrounds: BackgroundLoops;
  call: EngineCall;
  storage: SessionStorage;
  /** Time in ms since the start of the stream. */
  now: () => number;
  /** Whether the conversation has ended. */
  isOver: () => boolean;
  /** Calls the engine; an engine that throws ends only its own call. */
  callEngine: (tell: (engine: Engine) => void) => void;
  /** Ends the conversation immediately. */
  end: (reason: MediaEndReason) => void;
};

/** Manages the agent's audio and tools in a call. */
export function createAgentSide(p: AgentSideDeps) {
  const { storage, now, isOver, callEngine } = p;
  const { record, recorder } = storage;

  function checkpoint(when?: 'at once'): void {
    if (!isOver()) storage.checkpoint(when);
  }

  /** Billing depends on whether the caller heard the agent, so this is stored at once. */
  function markHeard(): void {
    if (record.markPlayed()) checkpoint('at once');
  }

  const playback = createPlayback({
    line: p.stream,
    now,
    background: backgroundOf(p),
    onPlayed(itemId, playedMs, complete) {
      if (!dtmfPlayback.onPlayed(itemId, complete)) callEngine((engine) => engine.onPlayed(itemId, playedMs, complete));
    },
    onAudioPlayed(mulaw, atMs) {
      recorder?.put('agent', mulaw, atMs);
      markHeard();
    },
  });
  const dtmfPlayback = createDtmfPlayback(playback);
  const sessionEnd = createSessionEnd({
    now,
    remainingMs: () => playback.remainingMs(),
    onEndingSoon: (secondsLeft) => callEngine((engine) => engine.onEndingSoon?.(secondsLeft)),
  });
  const isTalking = () => !isOver() && sessionEnd.reason() === undefined;
  const tools = createToolHost(p.tools, p.request, p.call.tools, {
    end: () => sessionEnd.endAfterPlayback('agent_hangup'),
    transfer(to) {
      if (!isTalking()) return false;
      record.setTransfer(to);
      sessionEnd.endAfterPlayback('transferred');
      return true;
    },
    playTones: (mulaw) => (isTalking() ? dtmfPlayback.play(mulaw) : Promise.resolve(false)),
  });
  const tool: EngineSink['runTool'] = async (call) => {
    const atMs = now();
    const result = await storage.trace.tool(call.name, () => tools.run(call));
    record.addToolCall({ call, result, atMs, durationMs: now() - atMs });
    checkpoint();
    return result;
  };

  return {
    playback,
    sink: createSink({ ...p, playback, dtmfPlayback, sessionEnd, checkpoint, tool }),
    endsAt: (atMs: number | undefined) => sessionEnd.endsAt(atMs),

    /** Sends the audio that is due. @returns the reason to end the conversation now, if any */
    tick(dueMs: number): MediaEndReason | undefined {
      playback.pump(dueMs);
      if (!p.stream.hasTrustedMarks && playback.hasSentFor(HEARD_AFTER_MS)) markHeard();
      recorder?.advance(now());
      sessionEnd.announceEnd();
      return sessionEnd.dueReason(playback.isIdle());
    },
  };
}

/** The sound that the agent of a call has behind its voice. */
function backgroundOf({ call, backgrounds }: Pick<AgentSideDeps, 'call' | 'backgrounds'>) {
  const { backgroundSound = 'off' } = call.settings ?? {};
  return backgroundSound === 'off' ? undefined : createBackgroundSound(backgrounds(backgroundSound));
}

/** The engine's interface to its call. */
function createSink(
  p: AgentSideDeps & {
    playback: Playback;
    dtmfPlayback: DtmfPlayback;
    sessionEnd: SessionEnd;
    checkpoint: (when?: 'at once') => void;
    tool: EngineSink['runTool'];
  },
): EngineSink {
  const { playback, sessionEnd, checkpoint, engine, logger } = p;
  const { record, interim } = p.storage;
  const callId = p.request._id;
  const checkpointForWatchers = () => checkpoint(interim.isWatched() ? 'at once' : undefined);
  return {
    sendAudio(itemId, mulaw) {
      if (sessionEnd.reason() !== undefined) return;
      playback.enqueue(itemId, mulaw);
      playback.pump();
    },
    endItem: (itemId) => playback.endItem(itemId),
    clear() {
      playback.clear();
      p.dtmfPlayback.dropped();
    },
    storeTurn(turn) {
      record.addTurn(turn);
      interim.onTurn(turn.speaker);
      checkpointForWatchers();
    },
    showInterim: (speaker, read) => interim.show(speaker, read),
    storeValues(values) {
      record.setValues(values);
      checkpointForWatchers();
    },
    storeLatency(latency) {
      record.addLatency(latency);
      p.storage.trace.reply(latency);
      report('replyLatency', {
        mode: p.request.mode,
        engine: engine.name,
        totalMs: latency.totalMs,
        parts: latency.parts ?? {},
      });
      logger.debug({ callId, totalMs: latency.totalMs, parts: latency.parts }, 'reply latency measured');
    },
    storeAnsweredBy(who) {
      record.setEngineDetection(who);
      // Write the checkpoint at once, because a process that takes over the call must know that an answering machine
      // answered.
      checkpoint('at once');
    },
    storeFailure(failure, { blame } = { blame: blameOf(failure) }) {
      logger.warn({ callId, engine: engine.name, failure }, 'provider failed');
      record.addFailure(failure);
      const { part, provider = 'unknown' } = failure;
      report('providerFailure', { mode: p.request.mode, part, provider, blame });
      checkpoint();
    },
    runTool: p.tool,
    end: (reason) => sessionEnd.endAfterPlayback(reason),
    fail(error) {
      logger.error({ callId, engine: engine.name, err: error }, 'engine failed');
      // If the end of the call is already decided, its reason stays, because the engine is no longer needed.
      p.end(sessionEnd.reason() ?? 'media_failed');
    },
  };
}
