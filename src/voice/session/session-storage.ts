import type { MediaSignals, StreamedCall } from '../call-reader.js';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { CarrierStream } from '../media/carrier-stream.js';
import { createMediaReports } from '../media/media-reports.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { Recordings } from '../recordings/recordings.js';
import type { TestRecordingTime } from '../recordings/test-recording-time.js';
import { keptBy } from '../../kernel/conversation/storage.js';
import type { PhoneNumberCheck } from '../../platform/numbering/phone-number-check.js';
import { createTwoTrackRecorder } from '../recordings/two-track-recorder.js';
import { traceConversation } from '../results/conversation-trace.js';
import { createConversationRecord } from '../results/conversation-record.js';
import type { ConversationBeginning, ConversationResults } from '../results/conversation-results.js';
import { createCostReports } from '../results/cost-reports.js';
import { createInterimWords } from '../live-words/interim-words.js';
import type { LiveWords } from '../live-words/live-words.js';
import type { ConversationResultDocument } from '../results/model.js';
import { createRedactor } from '../results/redactor.js';
import { createResultWriter } from '../results/result-writer.js';
import { createWrapUp } from '../results/wrap-up.js';
import type { Engine, EngineCall } from '../engines/port.js';

export interface SessionStorageDeps {
  stream: CarrierStream;
  streamId: string;
  carrierSid: string;
  /** The stream number: 0 for the call's first stream. */
  resumption: number;
  /** The stored result of the call's earlier streams. */
  earlier: ConversationResultDocument | null;
  request: StreamedCall;
  engine: Engine;
  results: ConversationResults;
  liveWords: LiveWords;
  /** Absent if calls are not recorded. */
  recordings?: Recordings;
  testRecordingTime: TestRecordingTime;
  phoneNumbers: PhoneNumberCheck;
  gateway: MediaSignals;
  engineCosts: Pick<DialGate, 'addEngineCost'>;
  logger: Logger;
  /** Aborted when this media server shuts down. */
  closing: AbortSignal;
  /** How long a lost stream waits for another stream of the call, in ms; tests shorten it. */
  lostForGoodMs?: number;
  /** Interval at which the cost of the engine is counted, in ms; tests shorten it. */
  costsEveryMs?: number;
}

/** Creates all parts that store or report a session: record, stored result, recording and reports to the workflow. */
export function createSessionStorage(
  deps: SessionStorageDeps,
  p: {
    startedAt: number;
    template: EngineCall['outputTemplate'];
    /** Called when another stream has taken over the call. */
    onSuperseded: () => void;
  },
) {
  const { streamId, carrierSid, resumption, earlier, request, engine, logger } = deps;
  const { _id: callId, accountId, mode } = request;
  const test = mode === 'test';
  const callStartedAt = earlier?.startedAt ?? new Date(p.startedAt);
  const offsetMs = Math.max(0, p.startedAt - callStartedAt.getTime());
  const kept = keptBy(request.agent.storage);
  const redactor = createRedactor(request, deps.phoneNumbers);
  const record = createConversationRecord({ template: p.template, offsetMs, earlier, redactor });
  const beginning: ConversationBeginning = {
    callId,
    streamId,
    carrierSid,
    engine: engine.name,
    startedAt: callStartedAt,
    resumptions: resumption,
    ...(test ? { test } : {}),
  };
  const trace = traceConversation({ request, stream: resumption, engine: engine.name, startedAt: p.startedAt });
  const interim = createInterimWords({
    callId,
    liveWords: deps.liveWords,
    lastTurnMs: (speaker) => record.lastTurnMs(speaker),
    logger,
    // Only whole words and numbers can be redacted.
    isHidden: redactor !== undefined,
  });
  const writer = createResultWriter({
    results: deps.results,
    beginning,
    logger,
    onClaimed: (row) => row && record.takeOver(row),
    onSuperseded() {
      interim.close();
      trace.end('superseded');
      p.onSuperseded();
    },
  });
  const mayStore = test ? deps.testRecordingTime.ofStream({ accountId, callId, stream: resumption }) : undefined;
  const recordings = kept.recording ? deps.recordings : undefined;
  const recorder =
    recordings &&
    createTwoTrackRecorder(recordings.open({ callId, stream: resumption, offsetMs, test }, writer.claimed, mayStore));
  const reports = createMediaReports({ gateway: deps.gateway, callId, streamId, carrierSid, logger });
  const costs = createCostReports({
    engineCosts: deps.engineCosts,
    engine,
    stream: { accountId, mode, callId, stream: resumption },
    ...(deps.costsEveryMs === undefined ? {} : { everyMs: deps.costsEveryMs }),
    logger,
  });
  const wrapUp = createWrapUp({ ...deps, beginning, record, interim, writer, recorder, reports, costs, kept });

  return {
    /** Start of the stream, in ms from the start of the call's first stream. */
    offsetMs,
    record,
    trace,
    interim,
    recorder,
    reports,
    costs,
    wrapUp: {
      end: (...[reason, lengthMs]: Parameters<typeof wrapUp.end>) =>
        wrapUp.end(reason, lengthMs).finally(() => trace.end(reason)),
      suspend: (...[why, lengthMs]: Parameters<typeof wrapUp.suspend>) =>
        wrapUp.suspend(why, lengthMs).finally(() => trace.end('suspended')),
    },
    checkpoint: (when?: 'at once') => writer.checkpoint(() => record.progress(), when),
  };
}

export type SessionStorage = ReturnType<typeof createSessionStorage>;
