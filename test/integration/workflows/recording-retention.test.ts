import { reconcileNow } from '../../../src/calls/reconciliation/schedule.js';
import { createRecordings } from '../../../src/voice/recordings/recordings.js';
import { placeCall, startHarness, type Harness } from './harness.js';

const DAY_MS = 24 * 60 * 60_000;

describe.each<[days: string, gone: readonly string[]]>([
  ['30', ['old']],
  ['0', []],
])('a round of reconciliation with a retention of %s days', (days, gone) => {
  let harness: Harness;

  beforeAll(async () => {
    const env = { TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS, RECORDING_RETENTION_DAYS: days };
    harness = await startHarness({ realTime: true, env });
  }, 120_000);
  afterAll(() => harness.stop());

  /** A final call with a recording of this age; `killed`: nobody closed it. */
  async function recorded(ageMs: number, killed = false): Promise<string> {
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

  it(`deletes ${gone.length === 0 ? 'nothing' : 'what is older, with every byte of it, and says so of the call'}`, async () => {
    const recordings = createRecordings(harness.database);
    const chunks = harness.database.connection.collection('recordings.chunks');
    const ids = { old: await recorded(31 * DAY_MS), young: await recorded(29 * DAY_MS) };
    const round = await reconcileNow(harness.config, 60_000);
    expect(round.deletedRecordings).toBe(gone.length);
    for (const [name, callId] of Object.entries(ids)) {
      const kept = !gone.includes(name);
      expect((await recordings.read(callId)) !== null).toBe(kept);
      expect(await chunks.countDocuments({ files_id: callId })).toBe(kept ? 3 : 0);
      const call = await harness.database.calls.findById(callId).lean();
      expect(call).toMatchObject({ hasRecording: kept, updatedAt: call?.createdAt });
    }
    expect((await reconcileNow(harness.config, 60_000)).deletedRecordings).toBe(0);
  }, 120_000);

  it('finishes what a process that died has left unnoticed, and leaves alone what may still be written', async () => {
    const recordings = createRecordings(harness.database);
    const [left, running] = [await recorded(7 * 60 * 60_000, true), await recorded(60_000, true)];
    await reconcileNow(harness.config, 60_000);
    // Each byte that is stored is a sample of two bytes in the file.
    expect((await recordings.read(left))?.bytes).toBe(44 + 2 * (32_000 * 2 + 10));
    expect(await recordings.read(running)).toBeNull();
  }, 120_000);
});
