import { createCallProjection } from '../../../src/calls/projection.js';
import { createRecordingRetention } from '../../../src/calls/recording-retention.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { MULAW_SILENCE } from '../../../src/voice/audio/mulaw.js';
import { newFile } from '../../../src/voice/recordings/model.js';
import { newCallId } from '../../support/store/test-database.js';
import { eventually } from '../voice/support/media-fixture';
import {
  audioOf,
  BYTES_PER_MS,
  openWorld,
  OURS,
  pcmOf,
  readPcm,
  readWav,
  remainsOf,
  storedBytes,
  STORES,
  type World,
} from './support';

jest.setTimeout(240_000);

const DAY_MS = 24 * 60 * 60_000;

// Both stores behave alike.
describe.each(STORES)('recordings in %s', (store) => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld(store);
  });
  afterEach(() => world.gate.open());
  afterAll(() => world.close());

  /** Writes a stream like a call does: a second at a time, and at most a minute ahead of the store. */
  async function write(callId: string, audio: Buffer, { stream = 0, offsetMs = 0, close = true } = {}) {
    const writer = world.recordings.open({ callId, stream, offsetMs }, OURS);
    const id = stream === 0 ? callId : `${callId}.${stream}`;
    for (let at = 0; at < audio.length; at += 1_000 * BYTES_PER_MS) {
      writer.write(audio.subarray(at, at + 1_000 * BYTES_PER_MS));
      const behind = at - 60_000 * BYTES_PER_MS;
      if (behind > 0 && behind % (10_000 * BYTES_PER_MS) === 0) {
        await eventually(async () => (await storedBytes(world, id)) >= behind);
      }
    }
    if (close) await writer.close();
    return writer;
  }

  /** Erases a recording, and then writes 6 s more: three chunks, for which the store does not look. */
  async function eraseWhileWritten() {
    const callId = newCallId();
    const writer = await write(callId, audioOf(14_000), { close: false });
    await eventually(async () => (await remainsOf(world, callId)).length >= (store === 's3' ? 1 : 7));
    await world.recordings.delete(callId);
    writer.write(audioOf(6_000));
    return { callId, writer };
  }

  const sweep = (retentionDays = 0) =>
    createRecordingRetention({
      recordings: world.recordings,
      database: world.database,
      projection: createCallProjection(world.database),
      logger: createLogger({ role: 'test', level: process.env['TEST_LOG_LEVEL'] === 'error' ? 'error' : 'silent' }),
      retentionDays,
      testRetentionDays: 0,
    }).sweep();

  it('are read as they were written, also from any byte to any other', async () => {
    const callId = newCallId();
    const audio = audioOf(21_300);
    await write(callId, audio);
    const whole = await readWav(world.recordings, callId);
    expect(whole.length).toBe(44 + 2 * audio.length);
    expect(whole.subarray(44).equals(pcmOf(audio))).toBe(true);
    const last = whole.length - 1;
    for (const [first, end] of [
      [0, 0],
      [0, 43],
      [43, 44],
      [45, 46],
      [44 + 63_999, 44 + 64_001],
      [44 + 159_999, 44 + 320_003],
      [100_001, 500_000],
      [last, last],
    ] as const) {
      const part = await readWav(world.recordings, callId, { first, last: end });
      expect(part.equals(whole.subarray(first, end + 1))).toBe(true);
    }
  });

  it('continue in the file of the next stream after a process was killed', async () => {
    const callId = newCallId();
    const [first, second] = [audioOf(11_000, 1), audioOf(7_000, 2)];
    await write(callId, first, { close: false });
    await eventually(async () => (await storedBytes(world, callId)) >= 10_000 * BYTES_PER_MS);
    await write(callId, second, { stream: 1, offsetMs: 12_000 });
    expect(await world.recordings.read(callId)).toBeNull();
    expect(await world.recordings.seal(callId)).toBe(true);
    const pcm = await readPcm(world.recordings, callId);
    const at = (ms: number) => 2 * ms * BYTES_PER_MS;
    expect(pcm.length).toBe(at(19_000));
    expect(pcm.subarray(0, at(10_000)).equals(pcmOf(first.subarray(0, at(5_000))))).toBe(true);
    expect(pcm.subarray(at(12_000)).equals(pcmOf(second))).toBe(true);
    const silence = pcmOf(Buffer.alloc(500 * BYTES_PER_MS, MULAW_SILENCE));
    expect(pcm.subarray(at(11_500), at(12_000)).equals(silence)).toBe(true);
  });

  it('have their full length after a process that was thought dead ends', async () => {
    const callId = newCallId();
    const audio = audioOf(17_000);
    const writer = await write(callId, audio.subarray(0, 10_000 * BYTES_PER_MS), { close: false });
    await eventually(async () => (await storedBytes(world, callId)) >= 10_000 * BYTES_PER_MS);
    expect(await world.recordings.seal(callId)).toBe(true);
    await sweep();
    writer.write(audio.subarray(10_000 * BYTES_PER_MS));
    await writer.close();
    await sweep();
    expect((await readPcm(world.recordings, callId)).equals(pcmOf(audio))).toBe(true);
  });

  it.each([
    ['short', 12_000],
    // Two parts of a multipart upload, which have at least 5 MiB.
    ['long', 370_000],
  ])('stay the same when a %s one is joined', async (_name, ms) => {
    const callId = newCallId();
    const audio = audioOf(ms);
    await write(callId, audio);
    const reading = (await world.recordings.read(callId))?.open();
    const pieces: Buffer[] = [];
    for await (const piece of reading ?? []) {
      if (pieces.length === 0) await sweep();
      pieces.push(piece as Buffer);
    }
    expect(Buffer.concat(pieces).subarray(44).equals(pcmOf(audio))).toBe(true);
    const [whole, stored] = [await readWav(world.recordings, callId), await world.recordings.list(callId)];
    expect(whole.equals(Buffer.concat(pieces))).toBe(true);
    expect(stored).toHaveLength(store === 's3' ? 1 : Math.ceil(ms / 2_000));
    const part = await readWav(world.recordings, callId, { first: 70_001, last: 300_000 });
    expect(part.equals(whole.subarray(70_001, 300_001))).toBe(true);
    await sweep();
    expect(await world.recordings.list(callId)).toEqual(stored);
    expect(
      await world.recordings.readWaveform(callId, (compute) => compute(AbortSignal.timeout(20_000))),
    ).toMatchObject({
      durationMs: ms,
    });
  });

  it('leave nothing when they are erased, joined or not', async () => {
    for (const isJoined of [false, true]) {
      const callId = newCallId();
      await write(callId, audioOf(11_000));
      await write(callId, audioOf(6_000), { stream: 2, offsetMs: 20_000 });
      if (isJoined) await sweep();
      const stored = await world.recordings.list(callId);
      expect(stored.toSorted()).toEqual((await remainsOf(world, callId)).toSorted());
      expect(stored.length).toBeGreaterThan(1);
      await world.recordings.delete(callId);
      expect(await remainsOf(world, callId)).toEqual([]);
      expect(await world.recordings.list(callId)).toEqual([]);
      expect(await world.recordings.read(callId)).toBeNull();
      expect(await world.recordings.seal(callId)).toBe(false);
      await world.recordings.delete(callId);
    }
  });

  it('leave nothing when they are erased while they are written', async () => {
    const callId = newCallId();
    const writer = await write(callId, audioOf(10_000), { close: false });
    await eventually(async () => (await storedBytes(world, callId)) >= 10_000 * BYTES_PER_MS);
    writer.write(audioOf(10_000));
    await world.recordings.delete(callId);
    writer.write(audioOf(10_000));
    await expect(writer.close()).rejects.toThrow('deleted');
    expect(await remainsOf(world, callId)).toEqual([]);
    expect(await world.recordings.seal(callId)).toBe(false);
    expect(await world.recordings.read(callId)).toBeNull();
  });

  it('leave nothing when they are erased shortly before they are complete', async () => {
    const { callId, writer } = await eraseWhileWritten();
    await expect(writer.close()).rejects.toThrow('deleted');
    expect(await remainsOf(world, callId)).toEqual([]);
    expect(await world.recordings.read(callId)).toBeNull();
  });

  it('leave nothing after a while when they are erased and the process that writes them dies', async () => {
    const { callId } = await eraseWhileWritten();
    await eventually(async () => (await remainsOf(world, callId)).length === (store === 's3' ? 0 : 3));
    const later = { $set: { forgetAfter: new Date(Date.now() - 1) } };
    await world.database.recordingFiles.updateMany({ _id: callId }, later);
    await sweep();
    expect(await remainsOf(world, callId)).toEqual([]);
    expect(await world.database.recordingFiles.countDocuments({ _id: callId })).toBe(0);
  });

  it.each([0, 2])('leave nothing when they are erased before audio of stream %i is stored', async (stream) => {
    const callId = newCallId();
    const files = { _id: { $in: [callId, `${callId}.2`] } };
    const writer = world.recordings.open({ callId, stream, offsetMs: 0 }, OURS);
    writer.write(audioOf(500));
    await world.recordings.delete(callId);
    writer.write(audioOf(12_000));
    await expect(writer.close()).rejects.toThrow('deleted');
    expect(await remainsOf(world, callId)).toEqual([]);
    expect(await world.recordings.seal(callId)).toBe(false);
    expect(await world.recordings.read(callId)).toBeNull();
    await world.database.recordingFiles.updateMany(files, { $set: { forgetAfter: new Date(Date.now() - 1) } });
    await sweep();
    expect(await world.database.recordingFiles.countDocuments(files)).toBe(0);
  });

  it('are finished in one round, however many processes died', async () => {
    const uploadDate = new Date(Date.now() - 7 * 60 * 60_000);
    const files = Array.from({ length: 52 }, () => ({
      ...newFile({ id: newCallId(), chunkSize: 32_000, offsetMs: 0 }),
      uploadDate,
      open: true as const,
    }));
    await world.database.recordingFiles.insertMany(files);
    expect((await sweep()).finished).toBe(52);
    expect(await world.database.recordingFiles.countDocuments({ open: true, uploadDate })).toBe(0);
  });

  it('are deleted after their retention, and others are not', async () => {
    const [old, young] = [newCallId(), newCallId()];
    for (const callId of [old, young]) await write(callId, audioOf(6_000));
    const uploadDate = new Date(Date.now() - 31 * DAY_MS);
    await world.database.recordingFiles.updateOne({ _id: old }, { $set: { uploadDate } });
    expect((await sweep(30)).deleted).toBe(1);
    expect(await remainsOf(world, old)).toEqual([]);
    expect((await readPcm(world.recordings, young)).length).toBe(2 * 6_000 * BYTES_PER_MS);
    expect((await sweep(30)).deleted).toBe(0);
  });

  it('that are deleted while they are read end the reading with an error', async () => {
    const callId = newCallId();
    await write(callId, audioOf(60_000));
    const reading = (await world.recordings.read(callId))?.open();
    const read = async () => {
      let pieces = 0;
      for await (const _ of reading ?? []) if (pieces++ === 0) await world.recordings.delete(callId);
    };
    await expect(read()).rejects.toThrow(store === 's3' ? 'does not exist' : 'lacks chunk');
  });

  it('are complete although the store was unavailable in the middle', async () => {
    const callId = newCallId();
    const audio = audioOf(40_000);
    const writer = await write(callId, audio.subarray(0, 10_000 * BYTES_PER_MS), { close: false });
    await eventually(async () => (await storedBytes(world, callId)) >= 10_000 * BYTES_PER_MS);
    world.gate.shut();
    writer.write(audio.subarray(10_000 * BYTES_PER_MS));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await storedBytes(world, callId)).toBe(10_000 * BYTES_PER_MS);
    world.gate.open();
    await writer.close();
    expect((await readPcm(world.recordings, callId)).equals(pcmOf(audio))).toBe(true);
  });

  it('neither delay the call nor grow without limit while the store is unavailable, and keep what was stored', async () => {
    const callId = newCallId();
    const audio = audioOf(10_000);
    const writer = await write(callId, audio, { close: false });
    await eventually(async () => (await storedBytes(world, callId)) >= 10_000 * BYTES_PER_MS);
    world.gate.shut();
    const second = audioOf(1_000);
    for (let n = 0; n < 300; n++) writer.write(second);
    await expect(writer.close()).rejects.toThrow('too much of the recording is waiting');
    world.gate.open();
    await eventually(() => world.recordings.seal(callId).catch(() => false), 30_000);
    expect((await readPcm(world.recordings, callId)).subarray(0, 20_000 * BYTES_PER_MS).equals(pcmOf(audio))).toBe(
      true,
    );
  });

  it('of streams that are written at once do not mix', async () => {
    const callIds = [newCallId(), newCallId(), newCallId()];
    await Promise.all(
      callIds.flatMap((callId, index) => [
        write(callId, audioOf(12_000, index), { stream: 0 }),
        write(callId, audioOf(9_000, index + 10), { stream: 1, offsetMs: 12_000 }),
      ]),
    );
    for (const [index, callId] of callIds.entries()) {
      const expected = pcmOf(Buffer.concat([audioOf(12_000, index), audioOf(9_000, index + 10)]));
      expect((await readPcm(world.recordings, callId)).equals(expected)).toBe(true);
    }
  });

  it('store nothing for a stream whose call belongs to another one', async () => {
    const callId = newCallId();
    const writer = world.recordings.open({ callId, stream: 0, offsetMs: 0 }, Promise.resolve(false));
    writer.write(audioOf(12_000));
    await expect(writer.close()).rejects.toThrow('another stream');
    expect(await remainsOf(world, callId)).toEqual([]);
  });

  it('end where the minutes of test calls are used up', async () => {
    const callId = newCallId();
    const audio = audioOf(25_000);
    const writer = world.recordings.open({ callId, stream: 0, offsetMs: 0 }, OURS, async (seconds) => seconds <= 20);
    writer.write(audio);
    await writer.close();
    const stored = audio.subarray(0, 20_000 * BYTES_PER_MS);
    expect((await readPcm(world.recordings, callId)).equals(pcmOf(stored))).toBe(true);
  });
});
