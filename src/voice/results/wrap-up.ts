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

/** What an engine may take to tell what it made of the call. */
const ENGINE_STOP_MS = 4_000;
/** How long a far end that is still on the line waits in silence for that, and for the recording. */
const SILENT_WAIT_MS = 500;
const RESULT_WAIT_MS = 2_000;
/** The carrier asks for the number as soon as the line is closed: without it, the far end would be hung up on. */
const TRANSFER_WAIT_MS = 10_000;
/** The workflow should know why the call ended before the carrier tells that it did. */
const REPORT_WAIT_MS = 2_000;
/** A line that is handed over is kept this long for the engine's last word on it. */
const HAND_OVER_MS = 1_500;
/** A carrier that wants another stream has long asked for it by then, three times over. */
const LOST_FOR_GOOD_MS = 60_000;
/** Close codes of the socket: the talk is over; our own fault; another server goes on with it. */
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
  /** This media server stops. */
  closing: AbortSignal;
  lostForGoodMs?: number;
  logger: Logger;
}

/** What is left to do when the talk on a stream is over: for good, or until another stream goes on with it. */
export function createWrapUp(deps: WrapUpDeps) {
  const { stream, engine, beginning, record, keeper, recorder, recordings, reports, logger } = deps;
  const { callId, streamId } = beginning;

  /** Whatever the engine makes of it goes into the record. */
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

  /** @returns whether the recording of the whole call can be read now */
  async function closeRecording(lengthMs: number): Promise<boolean> {
    if (recorder === undefined || recordings === undefined) return false;
    try {
      await recorder.close(lengthMs);
    } catch (error) {
      if (keeper.isTaken()) return false;
      logger.error({ callId, err: error }, 'the recording could not be stored to its end');
    }
    try {
      // Without an end are this share, when it is not whole, and that of a process that was killed.
      return await recordings.seal(callId);
    } catch (error) {
      logger.error({ callId, err: error }, 'nobody knows whether there is a recording');
      return false;
    }
  }

  /** A carrier that never comes back has lost the call, too: its workflow is told, so that it asks. */
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
     * The end first, then its report, then the line: a carrier that finds neither would be told to stream anew. What is
     * slow, such as a model's conclusion, follows when the line is closed, and the workflow waits for the word that it is
     * stored.
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
      // The call is another stream's by now, and that one will tell its end.
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

    /** The call may go on elsewhere: its row stays open, and nobody is told of an end. */
    async suspend(why: string, lengthMs: number): Promise<void> {
      const at = Date.now();
      logger.warn({ callId, streamId, why, seconds: Math.round(lengthMs / 1_000) }, 'the stream was lost');
      // What is known already does not wait for the engine: the next stream may be here in a moment.
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
