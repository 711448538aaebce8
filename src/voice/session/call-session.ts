import type { AnsweredBy, MediaEndReason } from '../../kernel/call-state.js';
import type { BackgroundLoops } from '../audio/background-sound.js';
import { mayTransfer } from '../../platform/config/live-limits.js';
import { SUPERSEDED } from '../../telephony/media.js';
import { createCallerTrack } from '../media/caller-track.js';
import type { FrameClock } from '../media/frame-clock.js';
import { buildResume } from '../results/conversation-record.js';
import type { ToolHostDeps } from '../tools/tool-host.js';
import { createAgentSide } from './agent-side.js';
import { buildEngineCall } from './engine-call.js';
import { createSessionStorage, type SessionStorageDeps } from './session-storage.js';

export interface CallSessionDeps extends SessionStorageDeps {
  tools: ToolHostDeps;
  /** The background sounds, which all calls of the process share. */
  backgrounds: BackgroundLoops;
  /** The frame clock, which all calls of the process share. */
  clock: FrameClock;
}

export interface CallSession {
  hear(mulaw: Uint8Array, timestampMs: number): void;
  onDtmf(digit: string): void;
  onMark(name: string): void;
  /** Words that the caller typed instead of speaking. */
  onText(text: string): void;
  /** When the call will be ended, in seconds from its first stream's start; undefined: no end is known any more. */
  endsAfter(seconds: number | undefined): void;
  /** Call this when the carrier's detection has reported whether a person or a machine answered. */
  onAnsweredBy(who: AnsweredBy): void;
  /** Call this with whether somebody watches the call. */
  setWatched(isWatched: boolean): void;
  /** Ends the conversation, unless it has ended already; resolves like `over`. */
  end(reason: MediaEndReason): Promise<void>;
  /** Stores the progress of a lost stream for the next one, without ending the call. Resolves like `over`. */
  suspend(why: string): Promise<void>;
  /** Resolves when the media stream is closed and the result stored and reported, or after a bounded time. */
  readonly over: Promise<void>;
}

/** Runs a call on its stream: engine, playback, recording, result and reports. Audio never waits for storage. */
export function startCallSession(deps: CallSessionDeps): CallSession {
  const { stream, streamId, resumption, earlier, request, engine, logger } = deps;
  const callId = request._id;
  const startedAt = Date.now();
  // Use whole milliseconds, like the ticks of the frame clock.
  const origin = Math.floor(performance.now());
  const now = () => performance.now() - origin;
  let ended = false;
  let settle: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (settle = resolve));

  const call = {
    ...buildEngineCall(request, mayTransfer(deps.tools, request.mode), stream.takesText),
    ...(earlier === null ? {} : { resume: buildResume(earlier) }),
  };
  const storage = createSessionStorage(deps, {
    startedAt,
    template: call.outputTemplate,
    onSuperseded: () => leave(SUPERSEDED),
  });
  const { record, recorder, wrapUp } = storage;
  const callerTrack = createCallerTrack({
    now,
    record: (frame, atMs) => recorder?.put('caller', frame, atMs),
    pass: (frame, atMs) => runEngine(() => engine.onCallerAudio(frame, atMs)),
    onDropped: () => logger.warn({ callId, streamId }, 'audio of the caller dropped: more audio than time'),
  });

  const { playback, sink, ...agent } = createAgentSide({
    ...deps,
    call,
    storage,
    now,
    isOver: () => ended,
    callEngine: (tell) => runEngine(() => tell(engine)),
    end: (reason) => void end(reason),
  });

  function tick(dueMs: number): void {
    storage.costs.tick(dueMs);
    callerTrack.tick(dueMs);
    const reason = agent.tick(dueMs);
    if (reason !== undefined) void end(reason);
  }

  /** Runs engine code; an engine that throws ends only its own call. */
  function runEngine(act: () => void): void {
    if (ended) return;
    try {
      act();
    } catch (error) {
      sink.fail(toError(error));
    }
  }

  function onAnsweredBy(who: AnsweredBy): void {
    if (ended || !record.setAnsweredBy(who)) return;
    let isAccepted = true;
    runEngine(() => (isAccepted = engine.onAnsweredBy?.(who) ?? true));
    if (!isAccepted) logger.warn({ callId, who }, 'late machine detection ignored; a person has talked with the agent');
    if (!isAccepted || who !== 'voicemail' || (request.agent.voicemailAction ?? 'hang_up') !== 'hang_up') return;
    playback.clear();
    void end('voicemail');
  }

  /** Closes the stream without a report, because another stream owns the call. */
  function leave(why: string): void {
    if (ended) return;
    ended = true;
    stopTicking();
    logger.warn({ callId, streamId, why }, 'media stream closed');
    stream.close(1008, SUPERSEDED);
    engine.stop('taken').then(
      ({ usage }) => storage.costs.finish(usage),
      (error: unknown) => logger.warn({ callId, err: error }, 'engine stop failed'),
    );
    settle();
  }

  /** Ends or suspends the conversation. Only the first request counts. */
  function close(how: (lengthMs: number) => Promise<void>): Promise<void> {
    if (ended) return over;
    ended = true;
    stopTicking();
    how(now())
      .catch((error: unknown) => logger.error({ callId, err: error }, 'session wrap-up failed'))
      .finally(settle);
    return over;
  }

  const end = (reason: MediaEndReason) => close((lengthMs) => wrapUp.end(reason, lengthMs));

  const stopTicking = deps.clock.start((dueMs) => runEngine(() => tick(dueMs - origin)));
  logger.info({ callId, streamId, resumption }, 'conversation started');
  if (earlier === null) {
    void storage.reports.started(startedAt).then((outcome) => {
      if (outcome !== 'over' || ended) return;
      logger.warn({ callId, streamId }, 'media stream opened for a finished call');
      void end('media_failed');
    });
  }
  runEngine(() => {
    engine.start(call, sink).catch((error: unknown) => sink.fail(toError(error)));
  });
  // Of an earlier stream's results only `voicemail` is certain: a supposed person may turn out to be a machine.
  if (earlier?.answeredBy === 'voicemail') onAnsweredBy('voicemail');

  return {
    hear: (mulaw, timestampMs) => callerTrack.hear(mulaw, timestampMs),
    onDtmf: (digit) => runEngine(() => engine.onDtmf(digit)),
    onText: (text) => runEngine(() => engine.onText?.(text)),
    onMark: (name) => (ended ? undefined : playback.onMark(name)),
    endsAfter: (seconds) => agent.endsAt(seconds === undefined ? undefined : seconds * 1_000 - storage.offsetMs),
    onAnsweredBy,
    setWatched: (isWatched) => storage.interim.setWatched(isWatched),
    end,
    suspend: (why) => close((lengthMs) => wrapUp.suspend(why, lengthMs)),
    over,
  };
}

const toError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)));
