import { reconcileNow } from '../../../src/calls/reconciliation/schedule.js';
import { createRecordings } from '../../../src/voice/recordings/recordings.js';
import { placeCall, startHarness, type Harness } from './harness.js';

const DAY_MS = 24 * 60 * 60_000;

describe.each<[days: string, deleted: readonly string[]]>([
  ['30', ['old']],
  ['0', []],
])('a round of reconciliation with a retention of %s days', (days, deleted) => {
  let harness: Harness;

  beforeAll(async () => {
    const env = { TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS, RECORDING_RETENTION_DAYS: days };
    harness = await startHarness({ realTime: true, env });
  }, 120_000);
  afterAll(() => harness.stop());

  /**
   * Stores an ended call with a recording of this age. With `killed`, the recording stays open, as a killed process
   * leaves it.
   */
  async function recordedCall(ageMs: number, killed = false): Promise<string> {
    const { database } = harness;
    const { call } = await placeCall(harness);
    await call.end('busy');
    await call.result();
    const { callId } = call;
    const at = new Date(Date.now() - ageMs);
    await database.calls.updateOne({ _id: callId }, { $set: { hasRecording: true, createdAt: at, updatedAt: at } });
    const writer = createRecordings(database).open({ callId, stream: 0, offsetMs: 0 }, Promise.resolve(true));
    writer.write(Buffer.alloc(32_000 * 2 + 10));
    await writer.close();
    const age = { uploadDate: at };
    await database.recordingFiles.updateOne(
      { _id: callId },
      killed ? { $set: { ...age, open: true }, $unset: { length: '' } } : { $set: age },
    );
    return callId;
  }

  it(`deletes ${deleted.length === 0 ? 'nothing' : 'older recordings completely, and updates their calls'}`, async () => {
    const recordings = createRecordings(harness.database);
    const chunks = harness.database.connection.collection('recordings.chunks');
    const ids = { old: await recordedCall(31 * DAY_MS), young: await recordedCall(29 * DAY_MS) };
    const round = await reconcileNow(harness.config, 60_000);
    expect(round.deletedRecordings).toBe(deleted.length);
    for (const [name, callId] of Object.entries(ids)) {
      const kept = !deleted.includes(name);
      expect((await recordings.read(callId)) !== null).toBe(kept);
      expect(await chunks.countDocuments({ files_id: callId })).toBe(kept ? 3 : 0);
      const call = await harness.database.calls.findById(callId).lean();
      expect(call).toMatchObject({ hasRecording: kept, updatedAt: call?.createdAt });
    }
    expect((await reconcileNow(harness.config, 60_000)).deletedRecordings).toBe(0);
  }, 120_000);

  it('closes recordings that a dead process left open, and keeps those that may still be written', async () => {
    const recordings = createRecordings(harness.database);
    const [abandoned, running] = [await recordedCall(7 * 60 * 60_000, true), await recordedCall(60_000, true)];
    await reconcileNow(harness.config, 60_000);
    // Each stored byte becomes a sample of two bytes in the file, after a header of 44 bytes.
    expect((await recordings.read(abandoned))?.bytes).toBe(44 + 2 * (32_000 * 2 + 10));
    expect(await recordings.read(running)).toBeNull();
  }, 120_000);
});
