import type { AnsweredBy, MediaEndReason } from '../../kernel/call-state.js';
import type { ConversationBeginning, ConversationResults } from '../results/conversation-results.js';
import type { MediaSignals, StreamedCall } from '../call-reader.js';
import type { ConversationResultDocument } from '../results/model.js';
import type { Recordings } from '../recordings/recordings.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { CarrierStream } from '../media/carrier-stream.js';
import { framesOf } from '../media/caller-frames.js';
import { createConversationRecord, resumeOf } from '../results/conversation-record.js';
import type { FrameClock } from '../media/frame-clock.js';
import { createKeyTones } from './key-tones.js';
import { createMediaReports } from '../media/media-reports.js';
import { createPlayback } from './playback.js';
import type { Engine, EngineSink } from '../engines/port.js';
import { mayTransfer } from '../../platform/config/live-limits.js';
import { engineCallOf } from './engine-call.js';
import { keepResult } from '../results/result-keeper.js';
import { createToolHost, type ToolHostDeps } from '../tools/tool-host.js';
import { createTwoTrackRecorder } from '../recordings/two-track-recorder.js';
import { createWrapUp } from '../results/wrap-up.js';

/** An end that is forced is told to the engine this long before. */
const ENDING_SOON_MS = 20_000;
/** A goodbye is waited for this much longer than it lasts; marks may be late. */
const GOODBYE_GRACE_MS = 2_000;

export interface ConversationDeps {
  stream: CarrierStream;
  streamId: string;
  carrierSid: string;
  /** The stream's number: 0 for the call's first. */
  resumption: number;
  /** What the streams before this one left. */
  earlier: ConversationResultDocument | null;
  request: StreamedCall;
  engine: Engine;
  results: ConversationResults;
  /** Absent: calls are not recorded. */
  recordings?: Recordings;
  gateway: MediaSignals;
  tools: ToolHostDeps;
  logger: Logger;
  /** The process's one. */
  clock: FrameClock;
  /** This media server stops. */
  closing: AbortSignal;
  /** How long a lost stream may wait for one that follows it; shorter is for tests. */
  lostForGoodMs?: number;
}

export interface Conversation {
  hear(mulaw: Uint8Array, timestampMs: number): void;
  onDtmf(digit: string): void;
  onMark(name: string): void;
  /** The second of the call's talk at which it will be ended; undefined: none is known any more. */
  endsAfter(seconds: number | undefined): void;
  /** The carrier's detection heard who answered. */
  onAnsweredBy(who: AnsweredBy): void;
  /** Ends the conversation for this reason, unless it is over already; resolves as `over` does. */
  end(reason: MediaEndReason): Promise<void>;
  /** The line is lost, the call perhaps not: keeps what is known for another stream and ends nothing. Resolves as `over` does. */
  suspend(why: string): Promise<void>;
  /** The line is closed, and the result stored and the workflow told, or both given up after a bounded time. */
  readonly over: Promise<void>;
}

/** Conducts one call on its line: engine, playback, recording, result and reports. The audio waits for none of them. */
export function startConversation(deps: ConversationDeps): Conversation {
  const { stream, streamId, carrierSid, resumption, earlier, request, engine, logger } = deps;
  const callId = request._id;
  const startedAt = Date.now();
  const callStartedAt = earlier?.startedAt ?? new Date(startedAt);
  const offsetMs = Math.max(0, startedAt - callStartedAt.getTime());
  // A whole millisecond, as the beats of the clock are.
  const origin = Math.floor(performance.now());
  const now = () => performance.now() - origin;
  let goodbye: { reason: MediaEndReason; giveUpAtMs: number } | undefined;
  let ended = false;
  let endsAtMs: number | undefined;
  let toldOfEnd = false;
  let settle: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (settle = resolve));

  const call = {
    ...engineCallOf(request, mayTransfer(deps.tools, request.mode)),
    ...(earlier === null ? {} : { resume: resumeOf(earlier) }),
  };
  const record = createConversationRecord({ template: call.outputTemplate, offsetMs, earlier });
  const beginning: ConversationBeginning = {
    callId,
    streamId,
    carrierSid,
    engine: engine.name,
    startedAt: callStartedAt,
    resumptions: resumption,
  };
  const keeper = keepResult({
    results: deps.results,
    beginning,
    logger,
    onClaimed: (row) => row && record.takeOver(row),
    onTaken: () => leave('another stream has it'),
  });
  const recorder =
    deps.recordings &&
    createTwoTrackRecorder(
      deps.recordings.open({ callId, stream: resumption, offsetMs, test: request.mode === 'test' }, keeper.claimed),
    );
  const reports = createMediaReports({ gateway: deps.gateway, callId, streamId, carrierSid, logger });
  const wrapUp = createWrapUp({ ...deps, beginning, record, keeper, recorder, reports });
  const frames = framesOf(now);

  const playback = createPlayback({
    line: stream,
    now,
    onPlayed(itemId, playedMs, complete) {
      if (!keyTones.onPlayed(itemId, complete)) guard(() => engine.onPlayed(itemId, playedMs, complete));
    },
    onAudioPlayed(mulaw, atMs) {
      recorder?.put('agent', mulaw, atMs);
      // Whether it was heard decides who pays, so it does not wait.
      if (record.markPlayed()) checkpoint('at once');
    },
  });

  const keyTones = createKeyTones(playback);
  const tools = createToolHost(deps.tools, request, call.tools, {
    end: () => leaveAfterLastWord('agent_hangup'),
    transfer(to) {
      if (ended || goodbye !== undefined) return false;
      record.setTransfer(to);
      leaveAfterLastWord('transferred');
      return true;
    },
    playTones: (mulaw) => (ended || goodbye !== undefined ? Promise.resolve(false) : keyTones.play(mulaw)),
  });

  const sink: EngineSink = {
    audio(itemId, mulaw) {
      if (goodbye !== undefined) return;
      playback.enqueue(itemId, mulaw);
      playback.pump();
    },
    endOfItem: (itemId) => playback.endItem(itemId),
    clear() {
      playback.clear();
      keyTones.dropped();
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
    tool: (call) => tools.run(call),
    end: (reason) => leaveAfterLastWord(reason),
    fail(error) {
      logger.error({ callId, engine: engine.name, err: error }, 'the engine failed');
      // What is decided already needs no engine any more.
      void end(goodbye?.reason ?? 'media_failed');
    },
  };

  /** Ends the talk for this reason when what is queued was heard. */
  function leaveAfterLastWord(reason: MediaEndReason): void {
    goodbye ??= { reason, giveUpAtMs: now() + playback.remainingMs() + GOODBYE_GRACE_MS };
  }

  function checkpoint(when?: 'at once'): void {
    if (!ended) keeper.checkpoint(() => record.progress(), when);
  }

  function tick(dueMs: number): void {
    playback.pump(dueMs);
    recorder?.advance(now());
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

  function learnWhoAnswered(who: AnsweredBy): void {
    if (ended || !record.setAnsweredBy(who)) return;
    guard(() => engine.onAnsweredBy?.(who));
    if (who !== 'voicemail' || (request.agent.voicemailAction ?? 'hang_up') !== 'hang_up') return;
    playback.clear();
    void end('voicemail');
  }

  /** Gives the call up without a word: it is not this stream's to report. */
  function leave(why: string): void {
    if (ended) return;
    ended = true;
    stopTicking();
    logger.warn({ callId, streamId }, `the stream is closed: ${why}`);
    stream.close(1008, why);
    void engine.stop('taken').catch((error: unknown) => logger.warn({ callId, err: error }, 'the engine did not stop'));
    settle();
  }

  /** Ends the talk in one of two ways, whichever comes first. */
  function close(how: (lengthMs: number) => Promise<void>): Promise<void> {
    if (ended) return over;
    ended = true;
    stopTicking();
    how(now())
      .catch((error: unknown) => logger.error({ callId, err: error }, 'the end of a conversation was not wrapped up'))
      .finally(settle);
    return over;
  }

  const end = (reason: MediaEndReason) => close((lengthMs) => wrapUp.end(reason, lengthMs));

  const stopTicking = deps.clock.start((dueMs) => guard(() => tick(dueMs - origin)));
  logger.info({ callId, streamId, resumption }, 'conversation started');
  if (earlier === null) {
    void reports.started(startedAt).then((outcome) => {
      if (outcome === 'over' && !ended) {
        logger.warn({ callId, streamId }, 'a stream came for a call that is over');
        void end('media_failed');
      }
    });
  }
  guard(() => {
    engine.start(call, sink).catch((error: unknown) => {
      sink.fail(error instanceof Error ? error : new Error(String(error)));
    });
  });
  // A mailbox stays one when the line breaks; that nobody could tell may still be found out.
  if (earlier?.answeredBy !== undefined && earlier.answeredBy !== 'unknown') learnWhoAnswered(earlier.answeredBy);

  return {
    hear(mulaw, timestampMs) {
      for (const { frame, atMs } of frames(mulaw, timestampMs)) {
        recorder?.put('caller', frame, atMs);
        guard(() => engine.onCallerAudio(frame, atMs));
      }
    },
    onDtmf: (digit) => guard(() => engine.onDtmf(digit)),
    onMark(name) {
      if (!ended) playback.onMark(name);
    },
    endsAfter(seconds) {
      endsAtMs = seconds === undefined ? undefined : seconds * 1_000 - offsetMs;
    },
    onAnsweredBy: learnWhoAnswered,
    end,
    suspend: (why) => close((lengthMs) => wrapUp.suspend(why, lengthMs)),
    over,
  };
}
