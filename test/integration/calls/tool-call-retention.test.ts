import { createCallProjection } from '../../../src/calls/projection.js';
import { createRecordingRetention } from '../../../src/calls/recording-retention.js';
import { createCallResults } from '../../../src/calls/wiring.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { createRecordings } from '../../../src/voice/recordings/recordings.js';
import type { ConversationResultDocument } from '../../../src/voice/results/model.js';
import { newCallId, openTestDatabase } from '../../support/store/test-database';

const DAY_MS = 24 * 60 * 60_000;
const TOOL_CALLS = [{ name: 'find_slot', atMs: 0, durationMs: 1, ok: true, arguments: '{}', result: 'Monday' }];

let database: Awaited<ReturnType<typeof openTestDatabase>>;
beforeAll(async () => {
  database = await openTestDatabase('tool_calls');
});
beforeEach(() => database.conversationResults.deleteMany({}));
afterAll(() => database.close());

/** Stores the result of a call without a recording. */
async function storeCall(days: number, p: { test?: true } = {}): Promise<string> {
  const callId = newCallId();
  const results = createCallResults(database);
  const startedAt = new Date(Date.now() - days * DAY_MS);
  const key = { callId, streamId: callId };
  await results.begin({ ...key, carrierSid: callId, engine: 'test', startedAt, ...p });
  const turns = [{ speaker: 'agent' as const, text: 'Hello.', startMs: 0, endMs: 900 }];
  const latencies = [{ atMs: 0, totalMs: 300 }];
  expect(await results.checkpoint(key, { agentAudioPlayed: true, turns, latencies, toolCalls: TOOL_CALLS })).toBe(true);
  return callId;
}

async function sweep(retentionDays: number, testRetentionDays: number): Promise<void> {
  await createRecordingRetention({
    recordings: createRecordings(database),
    database,
    projection: createCallProjection(database),
    logger: createLogger({ role: 'test', level: 'silent' }),
    retentionDays,
    testRetentionDays,
  }).sweep();
}

const stored = (callId: string) => database.conversationResults.findById(callId).lean<ConversationResultDocument>();

describe('the tool calls of a trace', () => {
  it('are deleted with the retention of recordings, and nothing else is', async () => {
    const [old, young] = [await storeCall(31), await storeCall(29)];
    await sweep(30, 7);
    const left = await stored(old);
    expect(left).toMatchObject({ turns: [{ text: 'Hello.' }], latencies: [{ totalMs: 300 }] });
    expect(left).not.toHaveProperty('toolCalls');
    expect(await stored(young)).toMatchObject({ toolCalls: TOOL_CALLS });
  });

  it('of test calls are deleted with the retention of their recordings', async () => {
    const [live, test] = [await storeCall(8), await storeCall(8, { test: true })];
    await sweep(0, 7);
    expect(await stored(live)).toMatchObject({ toolCalls: TOOL_CALLS });
    expect(await stored(test)).not.toHaveProperty('toolCalls');
  });

  it('stay with the recording until the call is reconciled, and do not keep those of other calls', async () => {
    const recordings = createRecordings(database);
    const record = async (callId: string, days: number) => {
      const writer = recordings.open({ callId, stream: 0, offsetMs: 0 }, Promise.resolve(true));
      writer.write(Buffer.alloc(100));
      await writer.close();
      const uploadDate = new Date(Date.now() - days * DAY_MS);
      await database.recordingFiles.updateOne({ _id: callId }, { $set: { uploadDate } });
    };
    // More than are read at once.
    const unsettled = await Promise.all(Array.from({ length: 60 }, () => storeCall(32)));
    const request = { accountId: 'acct_1', mode: 'live', toPhoneNumber: '+4930123456', createdAt: new Date() };
    await database.callRequests.collection.insertMany(unsettled.map((_id) => ({ ...request, _id })) as never);
    const over = await storeCall(31);
    await Promise.all([...unsettled.map((callId) => record(callId, 32)), record(over, 31)]);
    await sweep(30, 7);
    expect(await stored(over)).not.toHaveProperty('toolCalls');
    expect(await recordings.read(over)).toBeNull();
    for (const callId of unsettled) expect(await stored(callId)).toMatchObject({ toolCalls: TOOL_CALLS });
    expect(await database.recordingFiles.countDocuments({ _id: { $in: unsettled } })).toBe(60);
  });

  it('are kept without a retention', async () => {
    const calls = [await storeCall(900), await storeCall(900, { test: true })];
    await sweep(0, 0);
    for (const callId of calls) expect(await stored(callId)).toMatchObject({ toolCalls: TOOL_CALLS });
  });
});
