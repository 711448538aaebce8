import { setTimeout as sleep } from 'node:timers/promises';
import type { MediaEndReason } from '../../kernel/call-state.js';
import type { ConversationBeginning, ConversationEnding, ConversationResults } from './conversation-results.js';
import type { Recordings } from '../recordings/recordings.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { CarrierStream } from '../media/carrier-stream.js';
import type { ConversationRecord } from './conversation-record.js';
import type { MediaReports } from '../media/media-reports.js';
import type { Engine } from '../engines/port.js';
import type { ResultKeeper } from './result-keeper.js';
import type { TwoTrackRecorder } from '../recordings/two-track-recorder.js';
import { settledWithin } from '../session/within.js';

/** Timeout for the engine to return its result. */
const ENGINE_STOP_MS = 4_000;
/** How long a remote party still on the line waits in silence for the engine's result and the recording. */
const SILENT_WAIT_MS = 500;
const RESULT_WAIT_MS = 2_000;
/** Longer: when the media stream closes, the carrier requests the number; without one it ends the call. */
const TRANSFER_WAIT_MS = 10_000;
/** Wait for this report, so that the workflow learns why the call ended before the carrier's status callback. */
const REPORT_WAIT_MS = 2_000;
/** How long a suspended media stream stays open for the engine's last result. */
const HAND_OVER_MS = 1_500;
/** After this time the carrier opens no further stream: it would have tried three times already. */
const LOST_FOR_GOOD_MS = 60_000;
/** WebSocket close codes: conversation over, our own error, another server continues. */
const NORMAL = 1000;
const OUR_FAULT = 1011;
const SERVICE_RESTART = 1012;

interface WrapUpDeps {
  stream: CarrierStream;
  engine: Engine;
  beginning: ConversationBeginning;
  record: ConversationRecord;
  keeper: ResultKeeper;
  recorder: TwoTrackRecorder | undefined;
  recordings?: Recordings;
  results: ConversationResults;
  reports: MediaReports;
  /** Aborted when this media server shuts down. */
  closing: AbortSignal;
  lostForGoodMs?: number;
  logger: Logger;
}

/** Finishes a stream: either the call has ended, or another stream continues it. */
export function createWrapUp(deps: WrapUpDeps) {
  const { stream, engine, beginning, record, keeper, recorder, recordings, reports, logger } = deps;
  const { callId, streamId } = beginning;

  /** Stops the engine and records its result, if it comes in time. */
  async function stopEngine(reason: string): Promise<void> {
    try {
      const result = await settledWithin(ENGINE_STOP_MS, engine.stop(reason));
      if (result !== undefined) return record.setResult(result);
      logger.warn({ callId, engine: engine.name }, 'the engine gave no result in time');
    } catch (error) {
      logger.warn({ callId, engine: engine.name, err: error }, 'the engine gave no result');
    }
    return undefined;
  }

  /** @returns whether the recording of the whole call is readable */
  async function closeRecording(lengthMs: number): Promise<boolean> {
    if (recorder === undefined || recordings === undefined) return false;
    try {
      await recorder.close(lengthMs);
    } catch (error) {
      if (keeper.isTaken()) return false;
      logger.error({ callId, err: error }, 'the recording could not be stored to its end');
    }
    try {
      // Files without a length: this stream's, if incomplete, and those of killed processes.
      return await recordings.seal(callId);
    } catch (error) {
      logger.error({ callId, err: error }, 'nobody knows whether there is a recording');
      return false;
    }
  }

  /** Reports the end of the call if no other stream continues it, so that the workflow asks the carrier. */
  async function watchLost(at: number): Promise<void> {
    try {
      await sleep(deps.lostForGoodMs ?? LOST_FOR_GOOD_MS, undefined, { signal: deps.closing, ref: false });
      if (!(await deps.results.isOpen(beginning))) return;
    } catch (error) {
      if (!deps.closing.aborted) logger.warn({ callId, err: error }, 'nobody knows whether a lost stream was followed');
      return;
    }
    logger.warn({ callId, streamId }, 'the stream was lost for good');
    const { agentAudioPlayed } = record;
    await reports.ended({ reason: 'media_failed', at, agentAudioPlayed, resultStored: true });
  }

  return {
    /**
     * Order matters: store the end, report it, then close the stream; without either, the carrier would open a new one.
     * Slow parts, such as a model's conclusion, follow after the stream is closed; the workflow waits for the report
     * that they are stored.
     */
    async end(reason: MediaEndReason, lengthMs: number): Promise<void> {
      const at = Date.now();
      let hasRecording: boolean | undefined;
      const recorded = closeRecording(lengthMs).then((isReadable) => void (hasRecording = isReadable));
      const made = Promise.all([recorded, stopEngine(reason)]);
      const isGone = reason === 'carrier_stop';
      const isWhole = (await settledWithin(isGone ? ENGINE_STOP_MS : SILENT_WAIT_MS, made)) !== undefined;
      const ending = (): ConversationEnding => ({
        ...beginning,
        summary: 'The conversation could not be summarised.',
        ...record.progress(),
        endedAt: new Date(at),
        endReason: reason,
        ...(hasRecording === undefined ? {} : { hasRecording }),
        ...(reason === 'transferred' && record.transferTo !== undefined ? { transferTo: record.transferTo } : {}),
      });
      const stored = keeper.finish(ending);
      const waitMs = reason === 'transferred' ? TRANSFER_WAIT_MS : RESULT_WAIT_MS;
      const storedInTime = (await settledWithin(waitMs, stored)) === 'stored';
      // Another stream owns the call and will report its end.
      if (keeper.isTaken()) {
        stream.close(NORMAL, 'another stream has it');
        await made;
        return;
      }
      const { agentAudioPlayed } = record;
      const resultStored = storedInTime && isWhole;
      const reported = reports.ended({ reason, at, agentAudioPlayed, resultStored });
      await settledWithin(REPORT_WAIT_MS, reported);
      stream.close(reason === 'media_failed' ? OUR_FAULT : NORMAL, reason);
      logger.info({ callId, streamId, reason, seconds: Math.round(lengthMs / 1_000) }, 'conversation over');
      await Promise.all([made, stored, reported]);
      const late = isWhole ? await stored : await keeper.finish(ending);
      if (!resultStored && late === 'stored') await reports.stored(Date.now());
    },

    /** Leaves the row open and reports no end: the call may continue on another stream. */
    async suspend(why: string, lengthMs: number): Promise<void> {
      const at = Date.now();
      logger.warn({ callId, streamId, why, seconds: Math.round(lengthMs / 1_000) }, 'the stream was lost');
      // Store what is known without waiting for the engine: the next stream may start at any moment.
      const progress = () => record.progress();
      void keeper.suspend(progress);
      const recorded = recorder?.close(lengthMs).catch((error: unknown) => {
        if (!keeper.isTaken()) logger.error({ callId, err: error }, 'a share of the recording could not be stored');
      });
      const kept = stopEngine('suspended').then(() => keeper.suspend(progress));
      await settledWithin(HAND_OVER_MS, kept);
      stream.close(SERVICE_RESTART, why);
      await Promise.all([kept, recorded]);
      if ((await kept) === 'stored') void watchLost(at);
    },
  };
}
