import { setTimeout as sleep } from 'node:timers/promises';
import type { MediaEndReason } from '../../kernel/call-state.js';
import { WITHHELD_SUMMARY, type keptBy } from '../../kernel/conversation/storage.js';
import type { ConversationBeginning, ConversationEnding, ConversationResults } from './conversation-results.js';
import type { CostReports } from './cost-reports.js';
import type { InterimWordsWriter } from '../live-words/interim-words.js';
import type { Recordings } from '../recordings/recordings.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { SUPERSEDED } from '../../telephony/media.js';
import type { CarrierStream } from '../media/carrier-stream.js';
import type { ConversationRecord } from './conversation-record.js';
import type { MediaReports } from '../media/media-reports.js';
import type { Engine } from '../engines/port.js';
import type { ResultWriter } from './result-writer.js';
import type { TwoTrackRecorder } from '../recordings/two-track-recorder.js';
import { waitAtMost } from '../session/wait-at-most.js';

/** Timeout for the engine to return its result. */
const ENGINE_STOP_MS = 4_000;
/** How long a connected remote party waits in silence for the engine's result and the recording. */
const SILENT_WAIT_MS = 500;
const RESULT_WAIT_MS = 2_000;
/**
 * How long to wait for the result to be stored before a transfer. It is longer than otherwise, because the carrier asks
 * for the number to transfer to when the stream closes, and ends the call if none is stored.
 */
const TRANSFER_WAIT_MS = 10_000;
/**
 * How long to wait until the end is reported, so that the workflow knows the reason before the carrier's status
 * callback arrives.
 */
const REPORT_WAIT_MS = 2_000;
/** How long a suspended media stream stays open for the engine's last result. */
const SUSPEND_TIMEOUT_MS = 1_500;
/** After this time the carrier opens no new stream for a lost one, because it has tried three times already. */
const LOST_FOR_GOOD_MS = 60_000;
/** WebSocket close codes: the conversation has ended, this server failed, another server continues the call. */
const NORMAL = 1000;
const OUR_FAULT = 1011;
const SERVICE_RESTART = 1012;

interface WrapUpDeps {
  stream: CarrierStream;
  engine: Engine;
  beginning: ConversationBeginning;
  record: ConversationRecord;
  writer: ResultWriter;
  interim: InterimWordsWriter;
  recorder: TwoTrackRecorder | undefined;
  recordings?: Recordings;
  results: ConversationResults;
  reports: MediaReports;
  costs: CostReports;
  /** The parts of the conversation that remain after its end. */
  kept: ReturnType<typeof keptBy>;
  /** Aborted when this media server shuts down. */
  closing: AbortSignal;
  lostForGoodMs?: number;
  logger: Logger;
}

/** Finishes a stream: either the call has ended, or another stream continues it. */
export function createWrapUp(deps: WrapUpDeps) {
  const { stream, engine, beginning, record, writer, recorder, recordings, reports, logger } = deps;
  const { callId, streamId } = beginning;

  /** Stops the engine and records its result, if it comes in time. */
  async function stopEngine(reason: string): Promise<void> {
    try {
      const stopped = engine.stop(reason);
      // Count the cost even if the result comes too late to be stored.
      stopped.then(
        ({ usage }) => deps.costs.finish(usage),
        () => deps.costs.finish(undefined),
      );
      const result = await waitAtMost(ENGINE_STOP_MS, stopped);
      if (result !== undefined) return record.setResult(result);
      logger.warn({ callId, engine: engine.name }, 'engine result timed out');
    } catch (error) {
      logger.warn({ callId, engine: engine.name, err: error }, 'engine returned no result');
    }
    return undefined;
  }

  /** @returns whether the recording of the whole call is readable */
  async function closeRecording(lengthMs: number): Promise<boolean> {
    if (recorder === undefined || recordings === undefined) return false;
    try {
      await recorder.close(lengthMs);
    } catch (error) {
      if (writer.isSuperseded()) return false;
      logger.error({ callId, err: error }, 'recording not stored completely');
    }
    try {
      // Set the length of files that have none: this stream's file, if incomplete, and those of killed processes.
      return await recordings.seal(callId);
    } catch (error) {
      logger.error({ callId, err: error }, 'recording not sealed');
      return false;
    }
  }

  /** Reports the end of the audio if no other stream continues the call, so that the workflow asks the carrier. */
  async function watchLost(at: number): Promise<void> {
    try {
      await sleep(deps.lostForGoodMs ?? LOST_FOR_GOOD_MS, undefined, { signal: deps.closing, ref: false });
      if (!(await deps.results.isOpen(beginning))) return;
    } catch (error) {
      if (!deps.closing.aborted) logger.warn({ callId, err: error }, 'lost media stream: successor unknown');
      return;
    }
    logger.warn({ callId, streamId }, 'media stream lost for good');
    const { agentAudioPlayed } = record;
    await reports.ended({ reason: 'media_failed', at, agentAudioPlayed, resultStored: true });
  }

  return {
    /**
     * Ends the conversation: stores the end, reports it, then closes the stream. If the end were neither stored nor
     * reported when the stream closes, the carrier would open a new stream. Slow parts, such as the summary, are stored
     * after the stream is closed, and another report tells the workflow when they are stored.
     */
    async end(reason: MediaEndReason, lengthMs: number): Promise<void> {
      const at = Date.now();
      deps.interim.end();
      let hasRecording: boolean | undefined;
      const recorded = closeRecording(lengthMs).then((isReadable) => void (hasRecording = isReadable));
      const made = Promise.all([recorded, stopEngine(reason)]);
      const isGone = reason === 'carrier_stop';
      const isWhole = (await waitAtMost(isGone ? ENGINE_STOP_MS : SILENT_WAIT_MS, made)) !== undefined;
      const ending = (): ConversationEnding => ({
        ...beginning,
        summary: 'The conversation could not be summarized.',
        ...record.progress(),
        ...(deps.kept.summary ? {} : { summary: WITHHELD_SUMMARY }),
        ...(deps.kept.words ? {} : { dropsWords: true as const }),
        endedAt: new Date(at),
        endReason: reason,
        ...(hasRecording === undefined ? {} : { hasRecording }),
        ...(reason === 'transferred' && record.transferTo !== undefined ? { transferTo: record.transferTo } : {}),
      });
      const stored = writer.finish(ending);
      const waitMs = reason === 'transferred' ? TRANSFER_WAIT_MS : RESULT_WAIT_MS;
      const storedInTime = (await waitAtMost(waitMs, stored)) === 'stored';
      // If another stream owns the call, that stream will report the end.
      if (writer.isSuperseded()) {
        stream.close(NORMAL, SUPERSEDED);
        await made;
        return;
      }
      const { agentAudioPlayed } = record;
      const resultStored = storedInTime && isWhole;
      const reported = reports.ended({ reason, at, agentAudioPlayed, resultStored });
      await waitAtMost(REPORT_WAIT_MS, reported);
      stream.close(reason === 'media_failed' ? OUR_FAULT : NORMAL, reason);
      logger.info({ callId, streamId, reason, seconds: Math.round(lengthMs / 1_000) }, 'conversation over');
      await Promise.all([made, stored, reported]);
      const late = isWhole ? await stored : await writer.finish(ending);
      if (!resultStored && late === 'stored') await reports.stored(Date.now());
    },

    /** Stores the progress without reporting an end, because the call may continue on another stream. */
    async suspend(why: string, lengthMs: number): Promise<void> {
      const at = Date.now();
      deps.interim.close();
      logger.warn({ callId, streamId, why, seconds: Math.round(lengthMs / 1_000) }, 'media stream lost');
      // Store what is known without waiting for the engine: the next stream may start at any moment.
      const progress = () => record.progress();
      void writer.suspend(progress);
      const recorded = recorder?.close(lengthMs).catch((error: unknown) => {
        if (!writer.isSuperseded()) logger.error({ callId, err: error }, 'end of the recording not stored');
      });
      const kept = stopEngine('suspended').then(() => writer.suspend(progress));
      await waitAtMost(SUSPEND_TIMEOUT_MS, kept);
      stream.close(SERVICE_RESTART, why);
      await Promise.all([kept, recorded]);
      if ((await kept) === 'stored') void watchLost(at);
    },
  };
}
