import { buffer } from 'node:stream/consumers';
import { createSynthesizer } from '../../../src/voice/audio/flite.js';
import type { EngineFactory } from '../../../src/voice/engines/port.js';
import { eventually, openMediaFixture } from './support/media-fixture';
import type { MediaFixture, TestCall } from './support/media-fixture';
import { openPipeline } from './support/pipeline-harness';
import { makeRealtimeHarness } from './support/realtime-harness';
import { createScriptedEngine } from './support/scripted-engine';

interface SilenceLimits {
  promptAfterMs: number;
  endAfterMs: number;
}

const SILENCE: SilenceLimits = { promptAfterMs: 2_500, endAfterMs: 6_000 };
/** No prompt can come, however slow the machine is. */
const LONG_SILENCE: SilenceLimits = { promptAfterMs: 60_000, endAfterMs: 90_000 };

interface Setup {
  /** Absent: the offline engine. */
  engine?: EngineFactory;
  close(): Promise<void>;
}

/** Each engine; providers answer one turn of the caller. */
const ENGINES: [name: string, open: (silence: SilenceLimits) => Promise<Setup>][] = [
  [
    'openai-realtime',
    async (silence) => {
      const harness = await makeRealtimeHarness({ silence });
      harness.script?.([{ hears: 'Yes, that is fine.', says: 'Very well.' }]);
      return { engine: harness.factory, close: () => harness.close() };
    },
  ],
  [
    'pipeline',
    async (silence) => {
      const pipeline = await openPipeline({ silence });
      pipeline.stt.script(['Yes, that is fine.']);
      pipeline.chat.answers.set('Yes, that is fine.', { says: 'Very well.' });
      return { engine: pipeline.factory, close: () => pipeline.close() };
    },
  ],
  ['offline-demo', async () => ({ close: async () => undefined })],
];

describe('a carrier that sends no frames while the caller is silent', () => {
  const synthesizer = createSynthesizer();
  let speech: Uint8Array;
  let media: MediaFixture;
  let setup: Setup;
  beforeAll(async () => {
    speech = withoutPauses(await synthesizer.speak('Yes, that is fine.', 'rms'));
  });
  afterAll(() => synthesizer.close());
  afterEach(async () => {
    await media.close();
    await setup.close();
  });

  const turnsOf = async (call: TestCall) => (await media.results.find(call.callId))?.turns ?? [];

  it.each(ENGINES)(
    'gets answers to its callers, and calls end after silence, with %s',
    async (name, open) => {
      setup = await open(SILENCE);
      const { engine } = setup;
      media = await openMediaFixture({ dialogue: SILENCE, ...(engine === undefined ? {} : { engine }) });
      const call = await media.placeCall();
      const line = await media.openLine(call);
      line.omitsSilence = true;
      await eventually(async () => (await turnsOf(call)).length === 1 && !line.isPlaying(), 30_000);
      line.say(speech);
      await eventually(async () => (await turnsOf(call)).length >= 3, 20_000);
      // The prompt after the silence may already follow.
      const speakers = (await turnsOf(call)).map(({ speaker }) => speaker);
      expect(speakers.slice(0, 3)).toEqual(['agent', 'caller', 'agent']);
      expect(await line.closed).toBe(1_000);
      await eventually(async () => (await media.results.find(call.callId))?.endedAt !== undefined, 20_000);
      expect(await media.results.find(call.callId)).toMatchObject({ engine: name, endReason: 'silence' });
    },
    90_000,
  );
});

describe('words that arrive after silence has taken their place', () => {
  const synthesizer = createSynthesizer();
  afterAll(() => synthesizer.close());

  it.each(ENGINES)(
    'are answered once, by %s',
    async (_, open) => {
      const setup = await open(LONG_SILENCE);
      const { engine } = setup;
      const media = await openMediaFixture({ dialogue: LONG_SILENCE, ...(engine === undefined ? {} : { engine }) });
      const call = await media.placeCall();
      const line = await media.openLine(call);
      const speakers = async () => ((await media.results.find(call.callId))?.turns ?? []).map(({ speaker }) => speaker);
      await eventually(async () => (await speakers()).length === 1 && !line.isPlaying(), 30_000);
      line.holdBack(1_500);
      line.say(await synthesizer.speak('Yes, that is fine.', 'rms'));
      await eventually(async () => (await speakers()).length >= 3 && !line.isPlaying(), 20_000);
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      expect(await speakers()).toEqual(['agent', 'caller', 'agent']);
      line.hangUp();
      await media.close();
      await setup.close();
    },
    90_000,
  );
});

describe('the recording of a stream', () => {
  const { factory } = createScriptedEngine();
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const LOUD = new Uint8Array(160 * 10).fill(0x10);
  let media: MediaFixture;
  beforeAll(async () => {
    media = await openMediaFixture({ engine: factory });
  });
  afterAll(() => media.close());

  /**
   * Records a line for some seconds.
   * @returns the length of the recording, when each tone of the caller begins, how much later than the line the stream
   *   began, and the minimum and maximum length of the stream, all in ms
   */
  async function record(act: (line: Awaited<ReturnType<MediaFixture['openLine']>>) => Promise<void>) {
    const call = await media.placeCall();
    const openedAt = Date.now();
    const line = await media.openLine(call);
    await act(line);
    const hungUpAt = Date.now();
    line.hangUp();
    await line.closed;
    const closedAt = Date.now();
    await eventually(async () => (await media.results.find(call.callId))?.hasRecording === true, 20_000);
    const recording = await media.recordings.read(call.callId);
    if (recording === null) throw new Error('there is no recording');
    const wav = await buffer(recording.open());
    const startedAt = (await media.results.find(call.callId))?.startedAt.getTime() ?? Number.NaN;
    const isLoud = (ms: number) => Math.abs(wav.readInt16LE(44 + ms * 32)) > 1_000;
    const recordedMs = Math.floor((wav.length - 44) / 32);
    const tonesAtMs: number[] = [];
    for (let ms = 0; ms < recordedMs; ms++) if (isLoud(ms) && (ms === 0 || !isLoud(ms - 1))) tonesAtMs.push(ms);
    const streamMs = { atLeast: hungUpAt - startedAt, atMost: closedAt - startedAt };
    return { recordedMs, tonesAtMs, lateMs: startedAt - openedAt, streamMs };
  }

  function expectLength(recordedMs: number, streamMs: { atLeast: number; atMost: number }): void {
    expect(recordedMs).toBeGreaterThanOrEqual(streamMs.atLeast - 20);
    expect(recordedMs).toBeLessThanOrEqual(streamMs.atMost + 20);
  }

  it('is as long as the stream, with the words at their time, when frames are omitted, late or jump', async () => {
    const saidAtMs: number[] = [];
    const { recordedMs, tonesAtMs, lateMs, streamMs } = await record(async (line) => {
      const say = () => {
        saidAtMs.push(performance.now() - line.startedAt);
        line.say(LOUD);
      };
      await pause(500);
      line.omitsSilence = true;
      say();
      await pause(1_700);
      say();
      await pause(900);
      line.omitsSilence = false;
      line.holdBack(1_200);
      await pause(300);
      say();
      await pause(1_300);
      line.timestampsJumpMs = 3_600_000;
      await pause(400);
      say();
      await pause(600);
    });
    expectLength(recordedMs, streamMs);
    expect(tonesAtMs).toHaveLength(saidAtMs.length);
    // The line sends queued speech with its next frame.
    for (const [i, atMs] of tonesAtMs.entries()) expect(Math.abs(atMs - (saidAtMs[i] ?? 0))).toBeLessThan(60 + lateMs);
  }, 60_000);

  it('is as long as the stream if the carrier sends no frames at all', async () => {
    const { recordedMs, tonesAtMs, streamMs } = await record(async (line) => {
      line.omitsSilence = true;
      await pause(3_000);
    });
    expectLength(recordedMs, streamMs);
    expect(tonesAtMs).toEqual([]);
  }, 60_000);
});

/** Speech that ends with a loud frame, so that all silence after it is silence that the carrier does not send. */
function withoutPauses(mulaw: Uint8Array): Uint8Array {
  let end = mulaw.length;
  while (end > 160 && !mulaw.subarray(end - 160, end).some((byte) => (byte & 0x7f) < 0x40)) end -= 160;
  return mulaw.subarray(0, end);
}
