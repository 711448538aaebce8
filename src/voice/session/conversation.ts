import type { AnsweredBy, MediaEndReason } from '../../kernel/call-state.js';
import { mayTransfer } from '../../platform/config/live-limits.js';
import { framesOf } from '../media/caller-frames.js';
import type { FrameClock } from '../media/frame-clock.js';
import { resumeOf } from '../results/conversation-record.js';
import type { ToolHostDeps } from '../tools/tool-host.js';
import { createAgentSide } from './agent-side.js';
import { engineCallOf } from './engine-call.js';
import { keepTalk, type KeptTalkDeps } from './kept-talk.js';

export interface ConversationDeps extends KeptTalkDeps {
  tools: ToolHostDeps;
  /** Shared by all calls of the process. */
  clock: FrameClock;
}

export interface Conversation {
  hear(mulaw: Uint8Array, timestampMs: number): void;
  onDtmf(digit: string): void;
  onMark(name: string): void;
  /** When the call will be ended, in seconds from its first stream's start; undefined: no end is known any more. */
  endsAfter(seconds: number | undefined): void;
  /** The carrier's detection has reported who answered. */
  onAnsweredBy(who: AnsweredBy): void;
  /** Ends the conversation, unless it has ended already; resolves like `over`. */
  end(reason: MediaEndReason): Promise<void>;
  /** For a lost stream: stores the progress for the next stream without ending the call. Resolves like `over`. */
  suspend(why: string): Promise<void>;
  /** Resolves when the media stream is closed and the result stored and reported, or after a bounded time. */
  readonly over: Promise<void>;
}

/** Runs a call on its stream: engine, playback, recording, result and reports. Audio never waits for storage. */
export function startConversation(deps: ConversationDeps): Conversation {
  const { stream, streamId, resumption, earlier, request, engine, logger } = deps;
  const callId = request._id;
  const startedAt = Date.now();
  // Whole milliseconds, like the ticks of the clock.
  const origin = Math.floor(performance.now());
  const now = () => performance.now() - origin;
  let ended = false;
  let settle: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (settle = resolve));

  const call = {
    ...engineCallOf(request, mayTransfer(deps.tools, request.mode)),
    ...(earlier === null ? {} : { resume: resumeOf(earlier) }),
  };
  const kept = keepTalk(deps, {
    startedAt,
    template: call.outputTemplate,
    onTaken: () => leave('another stream has it'),
  });
  const { record, recorder, wrapUp } = kept;
  const frames = framesOf(now);

  const { playback, sink, ...agent } = createAgentSide({
    ...deps,
    call,
    kept,
    now,
    isOver: () => ended,
    tellEngine: (tell) => guard(() => tell(engine)),
    end: (reason) => void end(reason),
  });

  function tick(dueMs: number): void {
    const reason = agent.tick(dueMs);
    if (reason !== undefined) void end(reason);
  }

  /** Runs engine code; an engine that throws ends only its own call. */
  function guard(act: () => void): void {
    if (ended) return;
    try {
      act();
    } catch (error) {
      sink.fail(asError(error));
    }
  }

  function learnWhoAnswered(who: AnsweredBy): void {
    if (ended || !record.setAnsweredBy(who)) return;
    guard(() => engine.onAnsweredBy?.(who));
    if (who !== 'voicemail' || (request.agent.voicemailAction ?? 'hang_up') !== 'hang_up') return;
    playback.clear();
    void end('voicemail');
  }

  /** Closes the stream without a report, because another stream owns the call. */
  function leave(why: string): void {
    if (ended) return;
    ended = true;
    stopTicking();
    logger.warn({ callId, streamId }, `the stream is closed: ${why}`);
    stream.close(1008, why);
    void engine.stop('taken').catch((error: unknown) => logger.warn({ callId, err: error }, 'the engine did not stop'));
    settle();
  }

  /** Ends or suspends the conversation, whichever comes first. */
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
    void kept.reports.started(startedAt).then((outcome) => {
      if (outcome !== 'over' || ended) return;
      logger.warn({ callId, streamId }, 'a stream came for a call that is over');
      void end('media_failed');
    });
  }
  guard(() => {
    engine.start(call, sink).catch((error: unknown) => sink.fail(asError(error)));
  });
  // Only voicemail carries over to a resumed stream; someone taken for a person may still turn out to be a machine.
  if (earlier?.answeredBy === 'voicemail') learnWhoAnswered('voicemail');

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
      agent.endsAt(seconds === undefined ? undefined : seconds * 1_000 - kept.offsetMs);
    },
    onAnsweredBy: learnWhoAnswered,
    end,
    suspend: (why) => close((lengthMs) => wrapUp.suspend(why, lengthMs)),
    over,
  };
}

const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)));
