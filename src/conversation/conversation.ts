import type { CallGateway } from '../calls/gateway.js';
import type { MediaEndReason } from '../domain/call-state.js';
import type { ConversationEnding, ConversationResults } from '../store/conversation-results.js';
import type { CallRequestDocument } from '../store/models/call-request.js';
import type { StoredTurn } from '../store/models/conversation-result.js';
import type { Recordings } from '../store/recordings.js';
import type { Logger } from '../telemetry/logger.js';
import type { CarrierStream } from './carrier-stream.js';
import { framesOf } from './caller-frames.js';
import { createMediaReports } from './media-reports.js';
import { createPlayback } from './playback.js';
import type { Engine, EngineEnd, EngineResult, EngineSink } from './port.js';
import { engineCallOf } from './engine-call.js';
import { keepResult } from './result-keeper.js';
import { createTwoTrackRecorder } from './two-track-recorder.js';
import { within } from './within.js';

const TICK_MS = 40;
/** What an engine may take to tell what it made of the call. */
const ENGINE_STOP_MS = 4_000;
const RECORDING_WAIT_MS = 2_000;
const RESULT_WAIT_MS = 2_000;
/** The workflow should know why the call ended before the carrier tells that it did. */
const REPORT_WAIT_MS = 2_000;
/** An end that is forced is told to the engine this long before. */
const ENDING_SOON_MS = 20_000;
/** A goodbye is waited for this much longer than it lasts; marks may be late. */
const GOODBYE_GRACE_MS = 2_000;

export interface ConversationDeps {
  stream: CarrierStream;
  streamSid: string;
  carrierSid: string;
  request: CallRequestDocument;
  engine: Engine;
  results: ConversationResults;
  recordings: Recordings;
  gateway: CallGateway;
  logger: Logger;
}

export interface Conversation {
  hear(mulaw: Uint8Array, timestampMs: number): void;
  onDtmf(digit: string): void;
  onMark(name: string): void;
  /** The second of the stream at which the call will be ended; undefined: none is known any more. */
  endsAfter(seconds: number | undefined): void;
  /** Ends the conversation for this reason, unless it is over already; resolves as `over` does. */
  end(reason: MediaEndReason): Promise<void>;
  /** The line is closed, and the result stored and the workflow told, or both given up after a bounded time. */
  readonly over: Promise<void>;
}

/** Conducts one call on its line: engine, playback, recording, result and reports. The audio waits for none of them. */
export function startConversation(deps: ConversationDeps): Conversation {
  const { stream, streamSid, carrierSid, request, engine, logger } = deps;
  const callId = request._id;
  const startedAt = Date.now();
  const origin = performance.now();
  const now = () => performance.now() - origin;
  const turns: StoredTurn[] = [];
  let agentAudioPlayed = false;
  let goodbye: { reason: EngineEnd; giveUpAtMs: number } | undefined;
  let ended = false;
  let endsAtMs: number | undefined;
  let toldOfEnd = false;
  let settle: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (settle = resolve));

  const recorder = createTwoTrackRecorder(deps.recordings.open(callId));
  const beginning = { callId, streamSid, carrierSid, engine: engine.name, startedAt: new Date(startedAt) };
  const keeper = keepResult({
    results: deps.results,
    beginning,
    logger,
    onTaken: () => leave('another stream has it'),
  });
  const reports = createMediaReports({ gateway: deps.gateway, callId, streamSid, carrierSid, logger });
  const frames = framesOf(now);

  const playback = createPlayback({
    line: stream,
    now,
    onPlayed: (itemId, playedMs, complete) => guard(() => engine.onPlayed(itemId, playedMs, complete)),
    onFramePlayed(frame, atMs) {
      recorder.put('agent', frame, atMs);
      if (agentAudioPlayed) return;
      agentAudioPlayed = true;
      keeper.checkpoint({ agentAudioPlayed, turns });
    },
  });

  const sink: EngineSink = {
    audio(itemId, mulaw) {
      if (goodbye !== undefined) return;
      playback.enqueue(itemId, mulaw);
      playback.pump();
    },
    endOfItem: (itemId) => playback.endItem(itemId),
    clear: () => playback.clear(),
    transcript(turn) {
      turns.push(turn);
      if (!ended) keeper.checkpoint({ agentAudioPlayed, turns: [...turns] });
    },
    values: () => undefined,
    latency: ({ totalMs, parts }) => logger.debug({ callId, totalMs, parts }, 'reply'),
    tool: ({ name }) => Promise.resolve({ ok: false, error: `there is no tool ${name}` }),
    end(reason) {
      goodbye ??= { reason, giveUpAtMs: now() + playback.remainingMs() + GOODBYE_GRACE_MS };
    },
    fail(error) {
      logger.error({ callId, engine: engine.name, err: error }, 'the engine failed');
      void end('media_failed');
    },
  };

  function tick(): void {
    playback.pump();
    recorder.advance(now());
    tellOfEnd();
    if (goodbye !== undefined && (playback.isIdle() || now() > goodbye.giveUpAtMs)) void end(goodbye.reason);
  }

  function tellOfEnd(): void {
    if (toldOfEnd || goodbye !== undefined || endsAtMs === undefined) return;
    const leftMs = endsAtMs - now();
    if (leftMs > ENDING_SOON_MS) return;
    toldOfEnd = true;
    if (leftMs > 0) guard(() => engine.onEndingSoon?.(Math.round(leftMs / 1_000)));
  }

  /** An engine that throws ends its own call and no other. */
  function guard(act: () => void): void {
    if (ended) return;
    try {
      act();
    } catch (error) {
      sink.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Gives the call up without a word: it is not this stream's to report. */
  function leave(why: string): void {
    if (ended) return;
    ended = true;
    clearInterval(ticking);
    logger.warn({ callId, streamSid }, `the stream is closed: ${why}`);
    stream.close(1008, why);
    void engine.stop('taken').catch((error: unknown) => logger.warn({ callId, err: error }, 'the engine did not stop'));
    settle();
  }

  function end(reason: MediaEndReason): Promise<void> {
    if (ended) return over;
    ended = true;
    clearInterval(ticking);
    void wrapUp(reason, now()).finally(settle);
    return over;
  }

  /** Result first, then the report, then the line: whoever hears of the end can read what was said. */
  async function wrapUp(reason: MediaEndReason, lengthMs: number): Promise<void> {
    const at = Date.now();
    const recorded = closeRecording(lengthMs);
    const [result, inTime] = await Promise.all([engineResult(reason), within(RECORDING_WAIT_MS, recorded)]);
    const ending: ConversationEnding = {
      ...beginning,
      agentAudioPlayed,
      turns: turns.toSorted((a, b) => a.startMs - b.startMs),
      endedAt: new Date(at),
      endReason: reason,
      summary: result.summary,
      outputParameters: JSON.stringify(result.outputParameters),
      hasRecording: inTime ?? false,
      ...(result.answeredBy === undefined ? {} : { answeredBy: result.answeredBy }),
    };
    const stored = keeper.finish(ending);
    const resultStored =
      (await within(
        RESULT_WAIT_MS,
        stored.then(() => true),
      )) ?? false;
    const reported = reports.ended({ reason, at, agentAudioPlayed, resultStored });
    await within(REPORT_WAIT_MS, reported);
    stream.close(reason === 'media_failed' ? 1011 : 1000, reason);
    logger.info({ callId, streamSid, reason, seconds: Math.round(lengthMs / 1_000) }, 'conversation over');
    const [isRecorded] = await Promise.all([recorded, stored, reported]);
    if (isRecorded && !ending.hasRecording) await keeper.finish({ ...ending, hasRecording: true });
  }

  async function engineResult(reason: MediaEndReason): Promise<EngineResult> {
    try {
      const result = await within(ENGINE_STOP_MS, engine.stop(reason));
      if (result !== undefined) return result;
      logger.warn({ callId, engine: engine.name }, 'the engine gave no result in time');
    } catch (error) {
      logger.warn({ callId, engine: engine.name, err: error }, 'the engine gave no result');
    }
    return {
      summary: 'The conversation could not be summarised.',
      outputParameters: engineCallOf(request).outputTemplate,
    };
  }

  async function closeRecording(lengthMs: number): Promise<boolean> {
    try {
      await recorder.close(lengthMs);
      return true;
    } catch (error) {
      logger.error({ callId, err: error }, 'the recording could not be stored');
      return false;
    }
  }

  const ticking = setInterval(tick, TICK_MS);
  logger.info({ callId, streamSid }, 'conversation started');
  void reports.started(startedAt).then((outcome) => {
    if (outcome === 'over' && !ended) {
      logger.warn({ callId, streamSid }, 'a stream came for a call that is over');
      void end('media_failed');
    }
  });
  engine.start(engineCallOf(request), sink).catch((error: unknown) => {
    sink.fail(error instanceof Error ? error : new Error(String(error)));
  });

  return {
    hear(mulaw, timestampMs) {
      for (const { frame, atMs } of frames(mulaw, timestampMs)) {
        recorder.put('caller', frame, atMs);
        guard(() => engine.onCallerAudio(frame, atMs));
      }
    },
    onDtmf: (digit) => guard(() => engine.onDtmf(digit)),
    onMark(name) {
      if (!ended) playback.onMark(name);
    },
    endsAfter(seconds) {
      endsAtMs = seconds === undefined ? undefined : seconds * 1_000;
    },
    end,
    over,
  };
}
