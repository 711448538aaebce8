import { buffer } from 'node:stream/consumers';
import { encodeMulaw, MULAW_SILENCE } from '../../../src/voice/audio/mulaw.js';
import type { Database } from '../../../src/database.js';
import type { RecordingChunkDocument } from '../../../src/voice/recordings/model.js';
import { createRecordings, type Recordings } from '../../../src/voice/recordings/recordings.js';
import { eventually } from './support/media-fixture';
import { newCallId, openTestDatabase } from '../../support/store/test-database.js';

const BYTES_PER_MS = 16;
const OURS = Promise.resolve(true);

let database: Database;
let recordings: Recordings;

beforeAll(async () => {
  database = await openTestDatabase('recordings');
  recordings = createRecordings(database, { giveUpAfterMs: 2_000 });
});
afterAll(async () => {
  await database.connection.dropDatabase();
  await database.close();
});

const mulaw = (ms: number, byte: number) => Buffer.alloc(ms * BYTES_PER_MS, byte);
const chunks = () => database.connection.collection<RecordingChunkDocument>('recordings.chunks');
const chunksOf = (callId: string) => chunks().countDocuments({ files_id: { $regex: `^${callId}` } });

/** Reads the audio of a recording, without the file's header, as runs of equal mu-law bytes with their length in ms. */
async function readRuns(callId: string): Promise<[byte: number, ms: number][]> {
  const recording = await recordings.read(callId);
  if (recording === null) throw new Error('there is no recording');
  const wav = await buffer(recording.open());
  expect(wav.length).toBe(recording.bytes);
  expect(wav.readUInt32LE(40)).toBe(wav.length - 44);
  const runs: [number, number][] = [];
  const samples = Int16Array.from({ length: (wav.length - 44) / 2 }, (_, i) => wav.readInt16LE(44 + 2 * i));
  for (const byte of encodeMulaw(samples)) {
    const last = runs.at(-1);
    if (last?.[0] === byte) last[1] += 1 / BYTES_PER_MS;
    else runs.push([byte, 1 / BYTES_PER_MS]);
  }
  return runs;
}

/** Writes the recording of one stream. Without `close`, the recording stays open, as a killed process leaves it. */
async function record(callId: string, stream: number, offsetMs: number, audio: Buffer, close = true): Promise<void> {
  const writer = recordings.open({ callId, stream, offsetMs }, OURS);
  const before = await chunksOf(callId);
  writer.write(audio);
  if (close) return writer.close();
  const whole = Math.floor(audio.length / 32_000);
  for (const until = Date.now() + 10_000; (await chunksOf(callId)) < before + whole;) {
    if (Date.now() > until) throw new Error('the chunks were not written');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return undefined;
}

describe('a recording', () => {
  it('of one stream is read as it was written, over many chunks', async () => {
    const callId = newCallId();
    await record(callId, 0, 0, Buffer.concat([mulaw(3_000, 1), mulaw(4_500, 2)]));
    expect(await readRuns(callId)).toEqual([
      [1, 3_000],
      [2, 4_500],
    ]);
  });

  it('of several streams is one file, with silence between them', async () => {
    const callId = newCallId();
    await record(callId, 0, 0, mulaw(2_500, 1));
    await record(callId, 1, 4_000, mulaw(3_000, 2));
    await record(callId, 3, 9_000, mulaw(100, 3));
    expect(await readRuns(callId)).toEqual([
      [1, 2_500],
      [MULAW_SILENCE, 1_500],
      [2, 3_000],
      [MULAW_SILENCE, 2_000],
      [3, 100],
    ]);
  });

  it('of overlapping streams continues with the later one', async () => {
    const callId = newCallId();
    await record(callId, 0, 0, mulaw(5_000, 1));
    await record(callId, 1, 3_000, mulaw(1_000, 2));
    expect(await readRuns(callId)).toEqual([
      [1, 3_000],
      [2, 1_000],
    ]);
  });

  it('of streams on machines with different clocks keeps the audio of the earlier one', async () => {
    const callId = newCallId();
    await record(callId, 0, 0, mulaw(30_000, 1));
    await record(callId, 1, 0, mulaw(2_000, 2));
    await record(callId, 2, 21_000, mulaw(1_000, 3));
    expect(await readRuns(callId)).toEqual([
      [1, 20_000],
      [2, 1_000],
      [3, 1_000],
    ]);
  });

  it('of a killed process can be read only after it is sealed, up to the stored audio', async () => {
    const callId = newCallId();
    await record(callId, 0, 0, mulaw(5_000, 1), false);
    expect(await recordings.read(callId)).toBeNull();
    await record(callId, 1, 6_000, mulaw(500, 2));
    expect(await recordings.read(callId)).toBeNull();
    expect(await recordings.seal(callId)).toBe(true);
    expect(await recordings.seal(callId)).toBe(true);
    expect(await readRuns(callId)).toEqual([
      [1, 4_000],
      [MULAW_SILENCE, 2_000],
      [2, 500],
    ]);
    await recordings.delete(callId);
    expect(await chunksOf(callId)).toBe(0);
    expect(await recordings.read(callId)).toBeNull();
  });

  it('of a process that was killed between its last chunk and its length is read up to the stored audio', async () => {
    const callId = newCallId();
    await record(callId, 0, 0, mulaw(5_000, 1));
    await database.recordingFiles.updateOne({ _id: callId }, { $set: { open: true }, $unset: { length: '' } });
    expect(await recordings.seal(callId)).toBe(true);
    expect(await readRuns(callId)).toEqual([[1, 5_000]]);
  });

  it('that is sealed while its process still writes has its full length in the end', async () => {
    const callId = newCallId();
    const writer = recordings.open({ callId, stream: 0, offsetMs: 0 }, OURS);
    writer.write(mulaw(2_000, 1));
    for (const until = Date.now() + 10_000; (await chunksOf(callId)) === 0 && Date.now() < until;) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await recordings.seal(callId)).toBe(true);
    writer.write(mulaw(2_500, 1));
    await writer.close();
    expect(await readRuns(callId)).toEqual([[1, 4_500]]);
  });

  it('of a stream whose call belongs to another stream is removed', async () => {
    const callId = newCallId();
    const writer = recordings.open({ callId, stream: 0, offsetMs: 0 }, Promise.resolve(false));
    writer.write(mulaw(5_000, 1));
    await expect(writer.close()).rejects.toThrow('another stream');
    expect(await chunksOf(callId)).toBe(0);
    expect(await recordings.seal(callId)).toBe(false);
  });

  it('whose claim is never confirmed is given up and stops buffering audio', async () => {
    const callId = newCallId();
    const writer = recordings.open({ callId, stream: 0, offsetMs: 0 }, new Promise(() => undefined));
    for (let second = 0; second < 300; second++) writer.write(mulaw(1_000, 1));
    await expect(writer.close()).rejects.toThrow('too much of the recording is waiting');
  });

  it('has a waveform of both tracks, which is computed once', async () => {
    const callId = newCallId();
    // 3 s in which only the caller speaks, 1 s without a stream, and 2 s in which only the agent speaks.
    const tracks = (ms: number, caller: number, agent: number) =>
      Buffer.from(Uint8Array.from({ length: ms * BYTES_PER_MS }, (_, index) => (index % 2 === 0 ? caller : agent)));
    await record(callId, 0, 0, tracks(3_000, encodeMulaw(Int16Array.of(-32_124))[0]!, MULAW_SILENCE));
    await record(callId, 1, 4_000, tracks(2_000, MULAW_SILENCE, encodeMulaw(Int16Array.of(16_000))[0]!));
    let computed = 0;
    const read = (id: string) =>
      recordings.readWaveform(id, (compute) => {
        computed += 1;
        return compute(new AbortController().signal);
      });
    const waveform = await read(callId);
    expect(waveform?.durationMs).toBe(6_000);
    const runs: [caller: number, agent: number, parts: number][] = [];
    for (let part = 0; part < waveform!.peaks.length / 2; part++) {
      const [caller = 0, agent = 0] = waveform!.peaks.subarray(part * 2);
      const last = runs.at(-1);
      if (last?.[0] === caller && last[1] === agent) last[2] += 1;
      else runs.push([caller, agent, 1]);
    }
    expect(runs).toEqual([
      [255, 0, 300],
      [0, 0, 100],
      [0, expect.any(Number), 200],
    ]);
    expect(runs[2]?.[1]).toBeCloseTo(127, -1);
    expect(await read(callId)).toEqual({ durationMs: 6_000, peaks: Buffer.from(waveform!.peaks) });
    expect(computed).toBe(1);
    await record(callId, 2, 6_000, tracks(1_000, MULAW_SILENCE, MULAW_SILENCE));
    expect((await read(callId))?.durationMs).toBe(7_000);
    expect(computed).toBe(2);
    expect(await read(newCallId())).toBeNull();
  });

  it('whose waveform takes too long is not read to its end, but again when it is asked for', async () => {
    const callId = newCallId();
    await record(callId, 0, 0, mulaw(1_000, 1));
    const read = (signal: AbortSignal) => recordings.readWaveform(callId, (compute) => compute(signal));
    await expect(read(AbortSignal.abort(new Error('too long')))).rejects.toThrow('too long');
    expect(await read(new AbortController().signal)).toMatchObject({ durationMs: 1_000 });
  });

  it('has one computation of its waveform, which requests for it share', async () => {
    const [callId, other] = [newCallId(), newCallId()];
    for (const id of [callId, other]) await record(id, 0, 0, mulaw(1_000, 1));
    const started: string[] = [];
    let go = () => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    const read = (id: string) =>
      recordings.readWaveform(id, async (compute) => {
        started.push(id);
        await gate;
        return compute(new AbortController().signal);
      });
    const reads = [callId, callId, other, callId].map(read);
    await eventually(() => started.length >= 2);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(started.toSorted()).toEqual([callId, other].toSorted());
    go();
    const waveforms = await Promise.all(reads);
    expect(waveforms.map((waveform) => waveform?.durationMs)).toEqual([1_000, 1_000, 1_000, 1_000]);
  });

  it('without audio does not exist', async () => {
    const callId = newCallId();
    await recordings.open({ callId, stream: 0, offsetMs: 0 }, OURS).close();
    expect(await recordings.seal(callId)).toBe(false);
    expect(await recordings.read(callId)).toBeNull();
    await recordings.delete(callId);
  });
});
