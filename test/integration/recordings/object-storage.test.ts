import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { createCallProjection } from '../../../src/calls/projection.js';
import { createRecordingRetention } from '../../../src/calls/recording-retention.js';
import { observe } from '../../../src/platform/telemetry/measurements.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { createRecordings, type Recordings } from '../../../src/voice/recordings/recordings.js';
import { newFile } from '../../../src/voice/recordings/model.js';
import { createBucket } from '../../../src/voice/recordings/stores/s3/bucket.js';
import { createAudioStores } from '../../../src/voice/recordings/stores/stores.js';
import { createTestBucket, variablesOf } from '../../support/object-storage/bucket.js';
import { newCallId } from '../../support/store/test-database.js';
import { audioOf, BYTES_PER_MS, openWorld, OURS, pcmOf, readPcm, remainsOf, settingsOf, type World } from './support';

jest.setTimeout(240_000);

let world: World;
beforeAll(async () => {
  world = await openWorld('s3');
});
afterAll(() => world.close());

/** Recordings of a process with other settings. */
const recordingsWith = (env: Record<string, string>) =>
  createRecordings(world.database, { stores: createAudioStores(world.database, settingsOf(env)) });

async function write(recordings: Recordings, callId: string, audio: Buffer, stream = 0, offsetMs = 0) {
  const writer = recordings.open({ callId, stream, offsetMs }, OURS);
  writer.write(audio);
  await writer.close();
}

/** Writes more than the two minutes that a writer accepts without waiting for the store. */
async function writeLong(callId: string, audio: Buffer): Promise<void> {
  const writer = world.recordings.open({ callId, stream: 0, offsetMs: 0 }, OURS);
  for (let at = 0; at < audio.length; at += 100_000 * BYTES_PER_MS) {
    writer.write(audio.subarray(at, at + 100_000 * BYTES_PER_MS));
    const until = Math.min(at + 100_000 * BYTES_PER_MS, audio.length);
    while (((await fileOf(callId))?.objects?.stored ?? 0) < until) await new Promise((r) => setTimeout(r, 50));
  }
  await writer.close();
}

const sweep = (recordings: Recordings) =>
  createRecordingRetention({
    recordings,
    database: world.database,
    projection: createCallProjection(world.database),
    logger: createLogger({ role: 'test', level: 'silent' }),
    retentionDays: 0,
    testRetentionDays: 0,
  }).sweep();

const fileOf = (id: string) => world.database.recordingFiles.findById(id).lean();

describe('after the store was changed', () => {
  it.each([
    ['from MongoDB to S3', {}, () => variablesOf(world.bucket.name)],
    [
      'from S3 to MongoDB',
      () => variablesOf(world.bucket.name),
      () => ({ ...variablesOf(world.bucket.name), RECORDING_STORE: 'mongodb' }),
    ],
  ] as const)('%s, also in mid-call, recordings are read and erased', async (_name, before, after) => {
    const callId = newCallId();
    const [first, second] = [audioOf(6_000, 1), audioOf(7_000, 2)];
    await write(recordingsWith(typeof before === 'function' ? before() : before), callId, first);
    const recordings = recordingsWith(after());
    await write(recordings, callId, second, 1, 6_000);
    await sweep(recordings);
    expect((await readPcm(recordings, callId)).equals(pcmOf(Buffer.concat([first, second])))).toBe(true);
    expect((await recordings.list(callId)).toSorted()).toEqual((await remainsOf(world, callId)).toSorted());
    await recordings.delete(callId);
    expect(await remainsOf(world, callId)).toEqual([]);
  });

  it('to another bucket or prefix, recordings are found in the earlier one', async () => {
    const callId = newCallId();
    await write(world.recordings, callId, audioOf(6_000));
    const other = await createTestBucket();
    const recordings = recordingsWith({ ...variablesOf(other.name), RECORDING_S3_PREFIX: 'voice/eu/' });
    await write(recordings, callId, audioOf(2_000), 1, 6_000);
    expect((await readPcm(recordings, callId)).length).toBe(2 * 8_000 * BYTES_PER_MS);
    expect(await other.keysWith(callId)).toEqual([`voice/eu/${callId}/1/segments/000000`]);
    await recordings.delete(callId);
    expect([...(await remainsOf(world, callId)), ...(await other.keysWith(callId))]).toEqual([]);
    other.close();
  });

  it('so that no bucket is configured, a recording in S3 is neither lost nor taken for erased', async () => {
    const callId = newCallId();
    await write(world.recordings, callId, audioOf(6_000));
    const recordings = recordingsWith({});
    const reading = (await recordings.read(callId))?.open();
    await expect(
      (async () => {
        for await (const _ of reading ?? []);
      })(),
    ).rejects.toThrow('RECORDING_S3_BUCKET');
    await expect(recordings.delete(callId)).rejects.toThrow('RECORDING_S3_BUCKET');
    expect(await remainsOf(world, callId)).toHaveLength(2);
    await world.recordings.delete(callId);
    expect(await remainsOf(world, callId)).toEqual([]);
  });
});

describe('what a crash leaves', () => {
  /** A begun upload with one part, as a process leaves it that was killed while it joined. */
  async function unfinishedUpload(callId: string): Promise<void> {
    const { client, name } = world.bucket;
    const at = { Bucket: name, Key: `recordings/${callId}/0/joined` };
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(at));
    await client.send(new UploadPartCommand({ ...at, UploadId, PartNumber: 1, Body: audioOf(1_000) }));
    const uploadId = String(UploadId);
    await world.database.recordingFiles.updateOne({ _id: callId }, { $set: { 'objects.uploadId': uploadId } });
  }

  it.each([true, false])('of an upload is erased with its call, if its id was stored (%s) or not', async (isStored) => {
    const callId = newCallId();
    await write(world.recordings, callId, audioOf(6_000));
    await unfinishedUpload(callId);
    if (!isStored) {
      await world.database.recordingFiles.updateOne({ _id: callId }, { $unset: { 'objects.uploadId': '' } });
    }
    expect((await remainsOf(world, callId)).length).toBe(3);
    await world.recordings.delete(callId);
    expect(await remainsOf(world, callId)).toEqual([]);
  });

  it('of an upload is used by the next join, if it fits', async () => {
    const callId = newCallId();
    const audio = audioOf(340_000);
    await writeLong(callId, audio);
    // Its part is too short.
    await unfinishedUpload(callId);
    await sweep(world.recordings);
    expect(await remainsOf(world, callId)).toEqual([`recordings/${callId}/0/joined`]);
    expect((await fileOf(callId))?.objects?.uploadId).toBeUndefined();
    expect((await readPcm(world.recordings, callId)).equals(pcmOf(audio))).toBe(true);
  });

  it('of an upload that no longer exists is forgotten', async () => {
    const callId = newCallId();
    const audio = audioOf(340_000);
    await writeLong(callId, audio);
    await unfinishedUpload(callId);
    const uploadId = (await fileOf(callId))?.objects?.uploadId;
    const at = { Bucket: world.bucket.name, Key: `recordings/${callId}/0/joined`, UploadId: uploadId };
    await world.bucket.client.send(new AbortMultipartUploadCommand(at));
    await sweep(world.recordings);
    expect(await remainsOf(world, callId)).toEqual([`recordings/${callId}/0/joined`]);
    expect((await readPcm(world.recordings, callId)).equals(pcmOf(audio))).toBe(true);
  });

  it('of the segments of a joined recording is deleted in the next round', async () => {
    const callId = newCallId();
    await write(world.recordings, callId, audioOf(6_000));
    const { client, name } = world.bucket;
    await sweep(world.recordings);
    await client.send(new PutObjectCommand({ Bucket: name, Key: `recordings/${callId}/0/segments/000000`, Body: 'a' }));
    await world.database.recordingFiles.updateOne({ _id: callId }, { $set: { joinAfter: new Date() } });
    await sweep(world.recordings);
    expect(await remainsOf(world, callId)).toEqual([`recordings/${callId}/0/joined`]);
    expect((await readPcm(world.recordings, callId)).length).toBe(2 * 6_000 * BYTES_PER_MS);
  });

  it('of an erased call, because a segment was being sent, is deleted in a later round', async () => {
    const callId = newCallId();
    await write(world.recordings, callId, audioOf(6_000));
    await world.recordings.delete(callId);
    const { client, name } = world.bucket;
    await client.send(new PutObjectCommand({ Bucket: name, Key: `recordings/${callId}/0/segments/000002`, Body: 'a' }));
    await sweep(world.recordings);
    // Not yet: a segment can still arrive.
    expect(await fileOf(callId)).not.toBeNull();
    await world.database.recordingFiles.updateOne({ _id: callId }, { $set: { forgetAfter: new Date(Date.now() - 1) } });
    await sweep(world.recordings);
    expect(await remainsOf(world, callId)).toEqual([]);
    expect(await fileOf(callId)).toBeNull();
  });
});

describe('a join', () => {
  it('that is stopped keeps its parts, and the next one continues', async () => {
    const callId = newCallId();
    const audio = audioOf(700_000);
    await writeLong(callId, audio);
    const over = new AbortController();
    let parts = 0;
    const stop = observe('objectRequest', ({ operation }) => {
      if (operation !== 'upload_part') return;
      parts += 1;
      over.abort(new Error('stopped'));
    });
    const file = await fileOf(callId);
    if (file === null) throw new Error('There is no file.');
    await expect(world.recordings.upkeep.join(file, over.signal)).rejects.toThrow('stopped');
    expect(parts).toBe(1);
    expect((await readPcm(world.recordings, callId)).equals(pcmOf(audio))).toBe(true);
    await sweep(world.recordings);
    stop();
    expect(parts).toBe(3);
    expect(await remainsOf(world, callId)).toEqual([`recordings/${callId}/0/joined`]);
    expect((await readPcm(world.recordings, callId)).equals(pcmOf(audio))).toBe(true);
  });

  it('that several processes begin at once leaves one object', async () => {
    const callId = newCallId();
    const audio = audioOf(340_000);
    await writeLong(callId, audio);
    const file = await fileOf(callId);
    if (file === null) throw new Error('There is no file.');
    const { signal } = new AbortController();
    await Promise.allSettled([1, 2, 3].map(() => world.recordings.upkeep.join(file, signal)));
    await sweep(world.recordings);
    expect(await remainsOf(world, callId)).toEqual([`recordings/${callId}/0/joined`]);
    expect((await fileOf(callId))?.objects).toMatchObject({ joined: true });
    expect((await fileOf(callId))?.objects?.uploadId).toBeUndefined();
    expect((await readPcm(world.recordings, callId)).equals(pcmOf(audio))).toBe(true);
  });

  it('ends without an object if the call is erased meanwhile', async () => {
    const callId = newCallId();
    await writeLong(callId, audioOf(340_000));
    const file = await fileOf(callId);
    if (file === null) throw new Error('There is no file.');
    let erased: Promise<void> | undefined;
    const stop = observe('objectRequest', ({ operation }) => {
      if (operation === 'upload_part') erased ??= world.recordings.delete(callId);
    });
    await Promise.allSettled([world.recordings.upkeep.join(file, new AbortController().signal)]);
    stop();
    await erased;
    expect(erased).toBeDefined();
    expect(await remainsOf(world, callId)).toEqual([]);
  });
});

it('one round joins and forgets more files than one query finds', async () => {
  const { recordingFiles } = world.database;
  const objects = { bucket: world.bucket.name, prefix: 'recordings/', stored: 0 };
  const newFiles = (fields: object) =>
    Array.from({ length: 52 }, () => ({
      ...newFile({ id: newCallId(), chunkSize: 80_000, offsetMs: 0 }),
      objects,
      ...fields,
    }));
  const due = new Date(Date.now() - 1_000);
  await recordingFiles.insertMany([...newFiles({ length: 0, joinAfter: due }), ...newFiles({ forgetAfter: due })]);
  await sweep(world.recordings);
  expect(await recordingFiles.countDocuments({ joinAfter: due })).toBe(0);
  expect(await recordingFiles.countDocuments({ forgetAfter: due })).toBe(0);
});

it('a process without a bucket finishes a recording that is in S3', async () => {
  const callId = newCallId();
  await write(world.recordings, callId, audioOf(6_000));
  await world.database.recordingFiles.updateOne({ _id: callId }, { $set: { open: true }, $unset: { length: '' } });
  expect(await recordingsWith({}).seal(callId)).toBe(true);
  expect((await readPcm(world.recordings, callId)).length).toBe(2 * 6_000 * BYTES_PER_MS);
});

it('an erased call has no earlier version left in a bucket that keeps versions', async () => {
  const callId = newCallId();
  await world.bucket.keepVersions();
  await write(world.recordings, callId, audioOf(11_000));
  await sweep(world.recordings);
  expect((await remainsOf(world, callId)).length).toBeGreaterThan(0);
  await world.recordings.delete(callId);
  expect(await remainsOf(world, callId)).toEqual([]);
});

describe('after the database was restored to a time', () => {
  it.each([
    ['before the join', 6_000, undefined],
    ['before the join of a long recording', 340_000, undefined],
    ['during the recording', 11_000, 80_000],
  ])('%s, the joined recording is read, and found by the next join', async (_time, ms, sealedAt) => {
    const callId = newCallId();
    const audio = audioOf(ms);
    // The long one is several parts of an upload.
    await (ms > 120_000 ? writeLong(callId, audio) : write(world.recordings, callId, audio));
    const before = await fileOf(callId);
    await sweep(world.recordings);
    expect((await fileOf(callId))?.objects?.joined).toBe(true);
    const restored = { ...before, ...(sealedAt && { length: sealedAt }) };
    await world.database.recordingFiles.collection.replaceOne({ _id: callId as never }, restored);

    const known = pcmOf(audio.subarray(0, sealedAt));
    expect((await readPcm(world.recordings, callId)).equals(known)).toBe(true);
    await sweep(world.recordings);
    const file = await fileOf(callId);
    expect(file).toMatchObject({ length: audio.length, objects: { joined: true } });
    expect(file).not.toHaveProperty('joinAfter');
    expect(file?.objects).not.toHaveProperty('uploadId');
    expect((await readPcm(world.recordings, callId)).equals(pcmOf(audio))).toBe(true);
    // Also no upload that was begun in vain.
    expect(await remainsOf(world, callId)).toEqual([`recordings/${callId}/0/joined`]);
  });
});

it('a recording that cannot be joined is tried again later, and others are joined', async () => {
  const [broken, fine] = [newCallId(), newCallId()];
  for (const callId of [broken, fine]) await write(world.recordings, callId, audioOf(6_000));
  // Its first segment is missing.
  const lost = { _id: broken };
  await world.database.recordingFiles.updateOne(lost, {
    $set: { 'objects.prefix': 'elsewhere/', joinAfter: new Date(0) },
  });
  await sweep(world.recordings);
  expect((await fileOf(fine))?.objects?.joined).toBe(true);
  expect((await fileOf(broken))?.joinAfter?.getTime()).toBeGreaterThan(Date.now());
});

it('a reader who leaves ends the request in progress', async () => {
  const callId = newCallId();
  await write(world.recordings, callId, audioOf(60_000));
  const reading = (await world.recordings.read(callId))?.open();
  for await (const _ of reading ?? []) break;
  let requests = 0;
  const stop = observe('objectRequest', () => (requests += 1));
  await new Promise((resolve) => setTimeout(resolve, 300));
  stop();
  expect(reading?.destroyed).toBe(true);
  expect(requests).toBe(0);
});

describe('a server that never answers', () => {
  const asked: IncomingHttpHeaders[] = [];
  const server = createServer(({ headers }) => void asked.push(headers));
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const bucketWith = (env: Record<string, string>) => {
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { s3 } = settingsOf({ ...variablesOf('quiet', endpoint), ...env });
    if (s3 === undefined) throw new Error('no bucket is configured');
    return createBucket(s3, { timeoutMs: 500 });
  };

  it.each([
    ['AES256', {}],
    ['aws:kms', { RECORDING_S3_ENCRYPTION: 'aws:kms', RECORDING_S3_KMS_KEY_ID: 'alias/recordings' }],
    [undefined, { RECORDING_S3_ENCRYPTION: 'none' }],
  ])('is given up, and was asked for the encryption %s', async (encryption, env) => {
    asked.length = 0;
    const bucket = bucketWith(env);
    const place = { bucket: 'quiet', key: 'a' };
    await expect(bucket.put(place, audioOf(10))).rejects.toThrow('in time');
    await expect(bucket.beginUpload(place)).rejects.toThrow('in time');
    expect(asked.length).toBeGreaterThanOrEqual(2);
    for (const headers of asked) {
      expect(headers['x-amz-server-side-encryption']).toBe(encryption);
      const key = encryption === 'aws:kms' ? 'alias/recordings' : undefined;
      expect(headers['x-amz-server-side-encryption-aws-kms-key-id']).toBe(key);
    }
  });

  it('is given up at once when the reader leaves', async () => {
    const over = new AbortController();
    const read = bucketWith({}).get({ bucket: 'quiet', key: 'a' }, { from: 0, to: 9 }, over.signal);
    over.abort(new Error('left'));
    await expect(read).rejects.toThrow('left');
  });
});
