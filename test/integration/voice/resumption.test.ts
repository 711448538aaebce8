import { buffer } from 'node:stream/consumers';
import { createSynthesizer } from '../../../src/voice/audio/flite.js';
import { BRIDGE, INTRODUCTION } from '../../../src/voice/engines/offline/phrases.js';
import type { CarrierLine } from './support/carrier-line';
import { eventually, openMediaFixture } from './support/media-fixture';
import type { MediaFixture, TestCall } from './support/media-fixture';

const BYTES_PER_SECOND = 32_000;

describe('a call that lost its stream', () => {
  let media: MediaFixture;
  const synthesizer = createSynthesizer();
  beforeAll(async () => {
    media = await openMediaFixture();
  });
  afterAll(async () => {
    await media.close();
    await synthesizer.close();
  });

  const resultOf = (call: TestCall) => media.results.find(call.callId);
  const textsOf = async (call: TestCall) => (await resultOf(call))?.turns.map(({ text }) => text) ?? [];

  /** Waits until the line has played the agent's greeting. */
  async function waitForGreeting(line: CarrierLine, call: TestCall): Promise<void> {
    await eventually(async () => (await textsOf(call)).length > 0, 30_000);
    await eventually(() => !line.isPlaying());
  }

  async function wavOf(call: TestCall): Promise<Buffer> {
    const recording = await media.recordings.read(call.callId);
    if (recording === null) throw new Error('there is no recording');
    const wav = await buffer(recording.open());
    expect(wav.length).toBe(recording.bytes);
    return wav;
  }

  /** The loudness of the agent's track between two times of the recording, given in seconds. */
  function agentBetween(wav: Buffer, from: number, to: number): number {
    let sum = 0;
    const [first, last] = [from, to].map((seconds) => 44 + Math.round(seconds * 8_000) * 4 + 2) as [number, number];
    for (let at = first; at < Math.min(last, wav.length - 1); at += 4) sum += Math.abs(wav.readInt16LE(at));
    return sum / ((last - first) / 4);
  }

  it('is resumed in another process with one bridging sentence, no second greeting, one transcript, one recording', async () => {
    const another = await media.startAnother();
    const speech = await synthesizer.speak('Yes, the table for two is fine.', 'rms');
    const call = await media.placeCall();
    const first = await media.openLine(call);
    await waitForGreeting(first, call);
    first.say(speech);
    await eventually(async () => (await textsOf(call)).length >= 3, 30_000);
    const brokenAfterMs = performance.now() - first.startedAt;
    first.break();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const second = await media.resumeLine(call, 1, { port: another.port });
    const resumedAfterMs = performance.now() - first.startedAt;
    await eventually(async () => (await textsOf(call)).length >= 4, 30_000);
    second.say(speech);
    await eventually(async () => (await textsOf(call)).length >= 6, 30_000);
    second.hangUp();
    await eventually(async () => (await resultOf(call))?.hasRecording === true);

    const result = await resultOf(call);
    expect(result).toMatchObject({ resumptions: 1, endReason: 'carrier_stop', agentAudioPlayed: true });
    const texts = result?.turns.map(({ text }) => text) ?? [];
    expect(texts[0]).toContain(INTRODUCTION);
    expect(texts.filter((text) => text.includes(INTRODUCTION))).toHaveLength(1);
    expect(texts.slice(1)).toEqual([
      '(speech)',
      'Thank you, I have noted that.',
      BRIDGE,
      '(speech)',
      'I see. Please continue.',
    ]);
    const starts = result?.turns.map(({ startMs }) => startMs) ?? [];
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    expect(starts[3]).toBeGreaterThanOrEqual(brokenAfterMs);
    expect(result?.summary).toContain('spoke 4 times and heard the caller 2 times');
    await eventually(async () => (await media.signals(call.callId)).length === 2);
    expect(await media.signals(call.callId)).toMatchObject([{ kind: 'started' }, { kind: 'ended' }]);

    const wav = await wavOf(call);
    const seconds = (wav.length - 44) / BYTES_PER_SECOND;
    expect(seconds).toBeGreaterThan(resumedAfterMs / 1_000);
    const [greeting, bridge] = [result?.turns[0], result?.turns[3]];
    expect(agentBetween(wav, (greeting?.startMs ?? 0) / 1_000, (greeting?.endMs ?? 0) / 1_000)).toBeGreaterThan(300);
    expect(agentBetween(wav, (bridge?.startMs ?? 0) / 1_000, (bridge?.endMs ?? 0) / 1_000)).toBeGreaterThan(300);
    expect(agentBetween(wav, brokenAfterMs / 1_000 + 0.2, resumedAfterMs / 1_000 - 0.2)).toBe(0);
  }, 120_000);

  it('is resumed in the same process while the old socket seems alive, which then closes without speaking', async () => {
    const call = await media.placeCall();
    const first = await media.openLine(call);
    await waitForGreeting(first, call);
    const second = await media.resumeLine(call, 1);
    expect(await first.closed).toBe(1012);
    await eventually(async () => (await textsOf(call)).includes(BRIDGE), 30_000);
    second.hangUp();
    await eventually(async () => (await media.signals(call.callId)).length === 2);
    expect(await media.signals(call.callId)).toMatchObject([{ kind: 'started' }, { kind: 'ended' }]);
  }, 60_000);

  it('rejects the next checkpoint of an old stream in another process, which then closes', async () => {
    const another = await media.startAnother();
    const speech = await synthesizer.speak('Hello, who is it?', 'rms');
    const call = await media.placeCall();
    const first = await media.openLine(call);
    await waitForGreeting(first, call);
    const second = await media.resumeLine(call, 2, { port: another.port });
    await eventually(async () => (await resultOf(call))?.resumptions === 2);
    first.say(speech);
    expect(await first.closed).toBe(1008);
    await eventually(async () => (await textsOf(call)).includes(BRIDGE), 30_000);
    second.hangUp();
    await eventually(async () => (await media.signals(call.callId)).length === 2);
    expect(await media.signals(call.callId)).toMatchObject([{ kind: 'started' }, { kind: 'ended' }]);
  }, 60_000);

  it('is greeted again if the process died during the introduction, before it stored a turn', async () => {
    const another = await media.startAnother();
    const call = await media.placeCall();
    const first = await media.openLine(call);
    await eventually(async () => (await resultOf(call))?.agentAudioPlayed === true, 30_000);
    expect(await textsOf(call)).toEqual([]);
    const second = await media.resumeLine(call, 1, { port: another.port });
    first.stopFrames();
    await waitForGreeting(second, call);
    expect((await textsOf(call)).filter((text) => text.startsWith(INTRODUCTION))).toHaveLength(1);
    second.hangUp();
    first.break();
    await eventually(async () => (await resultOf(call))?.endedAt !== undefined);
  }, 60_000);

  it('closes a silent line and is resumed on another', async () => {
    const call = await media.placeCall();
    const first = await media.openLine(call);
    await waitForGreeting(first, call);
    first.fallSilent();
    // On an idle machine this takes less than 8 s.
    await eventually(async () => (await resultOf(call))?.summary !== undefined, 50_000);
    expect((await resultOf(call))?.endedAt).toBeUndefined();
    const second = await media.resumeLine(call, 1);
    await eventually(async () => (await textsOf(call)).includes(BRIDGE), 30_000);
    second.hangUp();
    first.break();
    await eventually(async () => (await media.signals(call.callId)).length === 2);
    expect(await media.signals(call.callId)).toMatchObject([{ kind: 'started' }, { kind: 'ended' }]);
  }, 120_000);

  it.each([
    ['without a number', undefined],
    ['with the number it has', 1],
  ])(
    'accepts no further stream %s',
    async (_, number) => {
      const another = await media.startAnother();
      const call = await media.placeCall();
      const first = await media.openLine(call);
      await waitForGreeting(first, call);
      first.break();
      const second = await media.resumeLine(call, 1);
      await eventually(async () => (await resultOf(call))?.resumptions === 1);
      const third = number === undefined ? await media.openLine(call) : await media.resumeLine(call, number);
      expect(await third.closed).toBe(1008);
      const fourth = await media.resumeLine(call, 1, { port: another.port });
      expect(await fourth.closed).toBe(1008);
      const heard = second.heard.length;
      await eventually(() => second.heard.length > heard + 10);
      second.hangUp();
      await eventually(async () => (await resultOf(call))?.endedAt !== undefined);
      await expect(media.resumeLine(call, 2)).rejects.toThrow('409');
    },
    60_000,
  );

  it('treats an invalid stream number as a protocol error', async () => {
    const call = await media.placeCall();
    const line = await media.resumeLine(call, -1);
    expect(await line.closed).toBe(1007);
    expect(await resultOf(call)).toBeNull();
  });

  it('is greeted if its first stream had no effect', async () => {
    const call = await media.placeCall();
    const line = await media.resumeLine(call, 2);
    await waitForGreeting(line, call);
    expect((await textsOf(call))[0]).toContain(INTRODUCTION);
    expect(await media.signals(call.callId)).toMatchObject([{ kind: 'started' }]);
    line.hangUp();
    await eventually(async () => (await resultOf(call))?.endedAt !== undefined);
  }, 60_000);
});

describe('a stream without a successor', () => {
  it('is signaled as lost for good, unlike a stream that was resumed', async () => {
    const media = await openMediaFixture({ timings: { lostForGoodMs: 3_000 } });
    const [lost, followed] = [await media.placeCall(), await media.placeCall()];
    for (const call of [lost, followed]) {
      const line = await media.openLine(call);
      await eventually(() => line.heard.length > 30, 30_000);
      line.break();
    }
    const second = await media.resumeLine(followed, 1);
    await eventually(async () => (await media.signals(lost.callId)).length === 2, 30_000);
    expect(await media.signals(lost.callId)).toMatchObject([
      { kind: 'started' },
      { kind: 'ended', reason: 'media_failed', agentAudioPlayed: true },
    ]);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await media.signals(followed.callId)).toMatchObject([{ kind: 'started' }]);
    second.hangUp();
    await media.close();
  }, 90_000);
});

describe('recording turned off', () => {
  it('stores no audio, and the result says so', async () => {
    const media = await openMediaFixture({ env: { RECORDINGS: 'off' } });
    const call = await media.placeCall();
    const line = await media.openLine(call);
    await eventually(() => line.heard.length > 150, 30_000);
    line.hangUp();
    await eventually(async () => (await media.results.find(call.callId))?.endedAt !== undefined);
    expect(await media.results.find(call.callId)).toMatchObject({ hasRecording: false });
    expect(await media.database.recordingFiles.countDocuments({})).toBe(0);
    await media.close();
  }, 60_000);
});
