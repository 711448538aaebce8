import { buffer } from 'node:stream/consumers';
import { createSynthesizer } from '../../../src/voice/audio/flite.js';
import { decodeMulaw } from '../../../src/voice/audio/mulaw.js';
import { eventually, openMediaFixture } from './support/media-fixture';
import type { MediaFixture } from './support/media-fixture';

const loudness = (pcm: Int16Array) => Math.sqrt(pcm.reduce((sum, x) => sum + x * x, 0) / Math.max(1, pcm.length));

/** The samples of one side of a stereo WAV file. */
function track(wav: Buffer, side: 'left' | 'right'): Int16Array {
  const pairs = (wav.length - 44) / 4;
  return Int16Array.from({ length: pairs }, (_, i) => wav.readInt16LE(44 + i * 4 + (side === 'left' ? 0 : 2)));
}

describe('a conversation on the media stream', () => {
  let media: MediaFixture;
  const synthesizer = createSynthesizer();
  beforeAll(async () => {
    media = await openMediaFixture();
  });
  afterAll(async () => {
    await media.close();
    await synthesizer.close();
  });

  it('greets, replies to a turn, and stores result, two-track recording and signals when the callee hangs up', async () => {
    const speech = await synthesizer.speak('Yes, the table for two is fine. Thank you very much.', 'rms');
    const call = await media.placeCall();
    const line = await media.openLine(call);

    await eventually(() => line.firstAudioMs !== undefined);
    await eventually(() => line.heard.length > 100 && !line.isPlaying(), 20_000);
    const greetingFrames = line.heard.length;
    line.say(speech);
    await eventually(() => line.heard.length > greetingFrames + 20 && !line.isPlaying(), 20_000);
    const durationMs = performance.now() - line.startedAt;
    line.hangUp();
    const hungUpAt = performance.now();
    await line.closed;
    await eventually(async () => (await media.signals(call.callId)).length === 2);
    expect(performance.now() - hungUpAt).toBeLessThan(5_000);

    expect(line.firstAudioMs).toBeLessThan(5_000);
    expect([...line.frameSizes]).toEqual([160]);
    // The service sends audio at most 360 ms before its playback. On a busy machine the simulated line plays frames
    // late, so more audio waits in the line.
    expect(line.mostAheadMs).toBeLessThanOrEqual(1_800);
    expect(line.events.filter((event) => event === 'mark').length).toBeGreaterThan(10);

    const signals = await media.signals(call.callId);
    expect(signals).toMatchObject([
      { kind: 'started', carrierSid: call.carrierSid },
      { kind: 'ended', carrierSid: call.carrierSid, reason: 'carrier_stop', agentAudioPlayed: true },
    ]);

    const result = await media.results.find(call.callId);
    expect(result).toMatchObject({
      carrierSid: call.carrierSid,
      streamSid: call.streamSid,
      engine: 'offline-demo',
      endReason: 'carrier_stop',
      agentAudioPlayed: true,
      hasRecording: true,
      outputParameters: '{}',
      answeredBy: 'unknown',
    });
    expect(result?.summary).toMatch(
      /^Automatic summary, not AI \(offline demo engine\): spoke 2 times and heard the caller once in \d+ s; caller speech/,
    );
    expect(result?.turns.map((turn) => [turn.speaker, turn.text])).toEqual([
      ['agent', 'Hello. This is an automated assistant. I am calling about your table for two.'],
      ['caller', '(speech)'],
      ['agent', 'Thank you, I have noted that.'],
    ]);
    for (const turn of result?.turns ?? []) expect(turn.endMs).toBeGreaterThan(turn.startMs);

    const recording = await media.recordings.read(call.callId);
    if (recording === null) throw new Error('there is no recording');
    const wav = await buffer(recording.open());
    expect(wav.length).toBe(recording.bytes);
    expect(wav.readUInt32LE(4)).toBe(wav.length - 8);
    expect(wav.readUInt32LE(40)).toBe(wav.length - 44);
    expect([wav.readUInt16LE(22), wav.readUInt32LE(24), wav.readUInt16LE(34)]).toEqual([2, 8_000, 16]);
    const seconds = (wav.length - 44) / 32_000;
    expect(Math.abs(seconds * 1_000 - durationMs)).toBeLessThan(1_000);
    const heardByCallee = decodeMulaw(Buffer.concat(line.heard));
    const agent = track(wav, 'right');
    expect(loudness(agent) / (loudness(heardByCallee) * Math.sqrt(heardByCallee.length / agent.length))).toBeCloseTo(
      1,
      1,
    );
    const said = decodeMulaw(speech);
    const caller = track(wav, 'left');
    expect(loudness(caller) / (loudness(said) * Math.sqrt(said.length / caller.length))).toBeCloseTo(1, 1);
  });

  it('stops speaking when the caller barges in, and does not count cleared audio as played', async () => {
    const speech = await synthesizer.speak('Excuse me, who is speaking please? I did not get your name.', 'rms');
    const call = await media.placeCall();
    const line = await media.openLine(call);
    await eventually(() => line.heard.length > 50);
    line.say(speech);
    await eventually(() => line.events.includes('clear'));
    const clearedAt = line.events.indexOf('clear');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(line.events.slice(clearedAt)).not.toContain('media');
    expect(line.framesCleared).toBeGreaterThan(0);
    await eventually(() => line.events.lastIndexOf('media') > clearedAt);
    line.hangUp();
    await eventually(async () => (await media.results.find(call.callId))?.endedAt !== undefined);
    const [first] = (await media.results.find(call.callId))?.turns ?? [];
    expect(first?.text).toMatch(/\(interrupted\)$/);
    const playedMs = (first?.endMs ?? 0) - (first?.startMs ?? 0);
    expect(playedMs).toBeGreaterThan(0);
    expect(playedMs).toBeLessThanOrEqual(line.heard.length * 20);
  });

  it('says goodbye after four replies: the goodbye is played, the call is signaled, then the socket is closed', async () => {
    const speech = await synthesizer.speak('Yes, all right.', 'rms');
    const call = await media.placeCall();
    const line = await media.openLine(call);
    await eventually(() => line.heard.length > 100 && !line.isPlaying(), 20_000);
    for (let turn = 0; turn < 5; turn++) {
      const before = line.heard.length;
      line.say(speech);
      await eventually(() => line.heard.length > before + 20 && !line.isPlaying(), 20_000);
    }
    expect(await line.closed).toBe(1_000);
    expect(await media.signals(call.callId)).toMatchObject([
      { kind: 'started' },
      { kind: 'ended', reason: 'agent_hangup', agentAudioPlayed: true },
    ]);
    const result = await media.results.find(call.callId);
    expect(result?.turns.at(-1)?.text).toBe('Thank you for your time. Goodbye.');
    expect(result?.turns.filter((turn) => turn.speaker === 'caller')).toHaveLength(5);
  });

  it('reprompts a silent caller and then ends the call with the reason silence', async () => {
    const media = await openMediaFixture({ dialogue: { promptAfterMs: 1_000, endAfterMs: 4_000 } });
    const call = await media.placeCall();
    const line = await media.openLine(call);
    expect(await line.closed).toBe(1_000);
    const result = await media.results.find(call.callId);
    expect(result?.endReason).toBe('silence');
    expect(result?.turns.map((turn) => turn.text).slice(1)).toEqual([
      'Are you still there?',
      'I cannot hear you, so I will hang up now. Goodbye.',
    ]);
    await media.close();
  });
});
