import { reconcileNow } from '../../src/calls/reconciliation/schedule.js';
import { createRecordings } from '../../src/voice/recordings/recordings.js';
import { placeCall, startHarness, type Harness } from '../integration/workflows/harness.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { openLine } from '../integration/voice/support/carrier-line';
import { eventually, openMediaFixture } from '../integration/voice/support/media-fixture.js';

const DAY_MS = 24 * 60 * 60_000;

describe('recordings of test calls', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({ realTime: true, env: { TEMPORAL_ADDRESS: process.env['TEST_TEMPORAL_ADDRESS'] } });
  }, 120_000);
  afterAll(() => harness.stop());

  async function recorded(test: boolean, days: number): Promise<string> {
    const { database } = harness;
    const { call } = await placeCall(harness);
    await call.end('busy');
    await call.result();
    const { callId } = call;
    const at = new Date(Date.now() - days * DAY_MS);
    const writer = createRecordings(database).open({ callId, stream: 0, offsetMs: 0, test }, Promise.resolve(true));
    writer.write(Buffer.alloc(64_000));
    await writer.close();
    await database.recordingFiles.updateOne({ _id: callId }, { $set: { uploadDate: at } });
    // A recording stays until reconciliation has passed its call.
    await database.calls.updateOne({ _id: callId }, { $set: { updatedAt: at } });
    return callId;
  }

  it('are deleted after 7 days by default, unlike live recordings', async () => {
    const recordings = createRecordings(harness.database);
    const old = await recorded(true, 8);
    const young = await recorded(true, 6);
    const live = await recorded(false, 8);
    await reconcileNow(harness.config, 60_000);
    const kept = await Promise.all([old, young, live].map(async (id) => (await recordings.read(id)) !== null));
    expect(kept).toEqual([false, true, true]);
  }, 120_000);

  it('are deleted even if older ones can be neither finished nor deleted', async () => {
    const { database } = harness;
    const undeletable = await recorded(true, 60);
    await database.calls.collection.updateOne(
      { _id: undeletable as never },
      { $set: { hasRecording: true }, $unset: { updatedAt: '' } },
    );
    const unfinished = await recorded(true, 50);
    await database.recordingFiles.updateOne({ _id: unfinished }, { $set: { open: true }, $unset: { length: '' } });
    await database.connection
      .collection('recordings.chunks')
      .updateMany({ files_id: unfinished }, { $unset: { data: '' } });
    const old = await recorded(true, 8);
    await expect(reconcileNow(harness.config, 60_000)).resolves.toMatchObject({ deletedRecordings: 2 });
    const left = await database.recordingFiles.find({ _id: { $in: [undeletable, unfinished, old] } }).lean();
    expect(left.map(({ _id }) => _id)).toEqual([undeletable]);
    await database.recordingFiles.deleteMany({});
  }, 120_000);
});

const { carriers } = parseConfig({ NODE_ENV: 'test' });

it('a media server marks the recordings of test calls only', async () => {
  const media = await openMediaFixture();
  try {
    for (const mode of ['test', 'live'] as const) {
      const call = await media.placeCall();
      await media.database.callRequests.updateOne({ _id: call.callId }, { $set: { mode } });
      const socket = await media.dialIn(call, { authToken: carriers[mode].authToken });
      const line = openLine(socket, call.carrierSid, call.streamSid);
      await eventually(async () => ((await media.results.find(call.callId))?.turns.length ?? 0) > 0, 30_000);
      line.hangUp();
      await eventually(async () => (await media.results.find(call.callId))?.hasRecording === true);
      const file = await media.database.recordingFiles.findById(call.callId).lean();
      expect(file?.test).toBe(mode === 'test' ? true : undefined);
    }
  } finally {
    await media.close();
  }
}, 120_000);
