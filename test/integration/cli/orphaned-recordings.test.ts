import { randomUUID } from 'node:crypto';
import { createCallRequests } from '../../../src/calls/call-requests.js';
import { newFile } from '../../../src/voice/recordings/model.js';
import { createTestBucket, variablesOf, type TestBucket } from '../../support/object-storage/bucket.js';
import { newCallId, openTestDatabase } from '../../support/store/test-database.js';
import { runAdmin } from './support/run-cli.js';
import { callRequest } from '../../support/store/call-request.js';

const HOUR_MS = 3_600_000;
const AUDIO = new Uint8Array(100);
const hoursAgo = (hours: number) => new Date(Date.now() - hours * HOUR_MS);

/** A service with an empty bucket. */
async function openWorld() {
  const database = await openTestDatabase('orphans');
  const bucket: TestBucket = await createTestBucket();
  const env = {
    MONGODB_URI: `${process.env.TEST_MONGODB_URI}/${database.connection.name}`,
    TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS,
    ...variablesOf(bucket.name),
  };
  return {
    database,
    bucket,
    env,
    run: (...args: string[]) => runAdmin(['recordings', 'orphans', ...args], env),

    /** Stores a request, which the database had when it was this old. */
    async request(createdAt: Date): Promise<void> {
      await createCallRequests(database).insert(
        callRequest({
          _id: newCallId(),
          accountId: `acct_${randomUUID()}`,
          mode: 'test',
          createdAt,
        }),
      );
    },

    /** Stores audio of a call, with or without its file. */
    async store(p: { hours: number; id?: string; path?: string; file?: object }): Promise<string> {
      const { hours, id = newCallId(), path = '0/joined', file } = p;
      await bucket.putAt(`recordings/${id.slice(0, 31)}/${path}`, AUDIO, hoursAgo(hours));
      if (file !== undefined) {
        const objects = { bucket: bucket.name, prefix: 'recordings/', stored: 100, joined: true as const };
        await database.recordingFiles.create({ ...newFile({ id, chunkSize: 80_000, offsetMs: 0 }), objects, ...file });
      }
      return id.slice(0, 31);
    },

    async close(): Promise<void> {
      bucket.close();
      await database.connection.dropDatabase();
      await database.close();
    },
  };
}

describe('callwright admin recordings orphans', () => {
  let world: Awaited<ReturnType<typeof openWorld>>;
  beforeEach(async () => {
    world = await openWorld();
  });
  afterEach(() => world.close());

  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await world.run(...args, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as object;
  };

  it('deletes audio of calls without a file that is older than a day, each with an entry in the audit log', async () => {
    const { bucket, database } = world;
    await world.request(new Date());
    const kept = [
      await world.store({ hours: 30, file: { length: 100 } }),
      await world.store({ hours: 30, id: `${newCallId()}.2`, path: '2/joined', file: { length: 100 } }),
      // Its file is deleted, and a worker looks for late audio.
      await world.store({ hours: 30, file: { forgetAfter: new Date() } }),
      await world.store({ hours: 23 }),
    ];
    const orphan = await world.store({ hours: 30 });
    await world.store({ hours: 31, id: orphan, path: '1/segments/000000' });
    const growing = await world.store({ hours: 30 });
    await world.store({ hours: 1, id: growing, path: '1/segments/000000' });
    await bucket.putAt('recordings/notes.txt', AUDIO, hoursAgo(30));
    const before = await bucket.keysWith('');

    const found = { calls_with_file: 3, calls_without_file: 1, too_young: 2, objects: 2, bytes: 200 };
    expect(await json()).toMatchObject({ ...found, call_ids: [orphan] });
    expect(await bucket.keysWith('')).toEqual(before);
    expect(await database.auditEntries.countDocuments()).toBe(0);

    expect(await json('--delete')).toMatchObject({ ...found, calls_deleted: 1, call_ids: [orphan] });
    expect(await bucket.keysWith('')).toEqual(before.filter((key) => !key.includes(orphan)));
    for (const callId of [...kept, growing]) expect(await bucket.keysWith(callId)).not.toEqual([]);
    expect(await database.auditEntries.find().lean()).toMatchObject([
      { accountId: 'operator', actorId: 'operator', action: 'deleteOrphanedRecording', target: orphan },
    ]);
    expect(await world.run('--delete')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Nothing to delete\./),
    });
  });

  it('leaves audio that is newer than every call in the database, which may be a copy', async () => {
    await world.request(hoursAgo(40));
    await world.store({ hours: 50, file: { length: 100 } });
    const later = await world.store({ hours: 30 });
    expect(await json('--delete')).toMatchObject({ calls_without_file: 0, too_young: 1, calls_deleted: 0 });
    expect(await world.bucket.keysWith(later)).toHaveLength(1);
  });

  it('deletes nothing if the database knows no recording in the bucket', async () => {
    await world.request(new Date());
    const other = await world.store({ hours: 30 });
    expect(await world.run('--delete')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('knows no recording in this bucket') as string,
    });
    expect(await world.bucket.keysWith(other)).toHaveLength(1);
    expect(await json()).toMatchObject({ calls_without_file: 1 });
  });

  it('fails if the store does not respond', async () => {
    const down = { ...world.env, RECORDING_S3_ENDPOINT: 'http://127.0.0.1:9' };
    expect(await runAdmin(['recordings', 'orphans'], down)).toMatchObject({ code: 1 });
  });

  it('needs object storage', async () => {
    const { MONGODB_URI, TEMPORAL_ADDRESS } = world.env;
    const without = await runAdmin(['recordings', 'orphans'], { MONGODB_URI, TEMPORAL_ADDRESS });
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('RECORDING_S3_BUCKET') as string });
  });
});
