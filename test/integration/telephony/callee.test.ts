import { createSynthesizer } from '../../../src/voice/audio/flite.js';
import { decodeMulaw } from '../../../src/voice/audio/mulaw.js';
import { streamCall } from './support/line-tools.js';
import { startBench, until, type Bench } from './support/simulator.js';

let bench: Bench;
let speech: Uint8Array;
const synthesizer = createSynthesizer();
beforeAll(async () => {
  speech = await synthesizer.speak(
    'Hello, this is an automated assistant. I am calling about your table for two on Friday evening by the window.',
    'slt',
  );
  bench = await startBench({ SIMULATOR_TIME_SCALE: '0.1' });
});
afterAll(async () => {
  await synthesizer.close();
  await bench.close();
});

describe('script 09', () => {
  it('interrupts the agent in mid-sentence, ignores the rest of the sentence, continues, and hangs up', async () => {
    const { agents, sid } = await streamCall(bench, '+12025550109');
    const [agent] = agents;
    agent!.media(speech);
    agent!.mark('sentence');
    await until(() => agent!.secondsHeard() > 0.3);
    // The sentence takes over five seconds, and the carrier has not yet returned the mark at its end.
    expect(agent!.messages.some(({ event }) => event === 'mark')).toBe(false);
    agent!.clear();
    agent!.media(speech.subarray(0, 8_000));
    const interruption = await waitForSilence(agent!);
    expect(interruption).toBeGreaterThan(1);
    expect(scriptActions(await bench.getCall(sid))).toEqual(['interrupted']);

    agent!.media(speech.subarray(0, 16_000));
    await until(async () => scriptActions(await bench.getCall(sid)).length === 2, 15_000);
    await waitForSilence(agent!);
    agent!.media(speech.subarray(0, 16_000));
    await until(async () => scriptActions(await bench.getCall(sid)).length === 3, 15_000);
    await waitForSilence(agent!);
    agent!.media(speech.subarray(0, 16_000));
    const record = await bench.waitForEnd(sid);
    expect(scriptActions(record)).toEqual(['interrupted', 'said', 'said', 'finished']);
    expect(record.status).toBe('completed');

    // The recording contains what was played: at most two and a half seconds of the first sentence, and four short
    // sentences. Cleared audio was not played.
    const wav = Buffer.from(await (await fetch(`${bench.url}/simulator/calls/${sid}/heard.wav`)).arrayBuffer());
    const samples = new Int16Array(wav.buffer.slice(wav.byteOffset + 44, wav.byteOffset + wav.length));
    expect(voicedSeconds(samples)).toBeLessThan(voicedSeconds(decodeMulaw(speech)) + 7);
  });
});

describe('script 10', () => {
  it('sends DTMF digits one by one, as the carrier does, and does not speak', async () => {
    const { agents, sid } = await streamCall(bench, '+12025550110');
    const [agent] = agents;
    const digits = () => agent!.messages.flatMap(({ dtmf }) => (dtmf === undefined ? [] : [dtmf.digit])).join('');
    for (const expected of ['1', '142#', '142#1']) {
      agent!.media(speech.subarray(0, 16_000));
      await until(() => digits() === expected, 15_000);
    }
    agent!.media(speech.subarray(0, 16_000));
    const record = await bench.waitForEnd(sid);
    const { streamSid } = agent!.messages[1]!;
    expect(agent!.messages.find(({ event }) => event === 'dtmf')).toMatchObject({
      event: 'dtmf',
      streamSid,
      sequenceNumber: expect.stringMatching(/^\d+$/),
      dtmf: { track: 'inbound_track', digit: '1' },
    });
    const numbers = agent!.messages.flatMap(({ sequenceNumber }) =>
      sequenceNumber === undefined ? [] : [Number(sequenceNumber)],
    );
    expect(numbers).toEqual(numbers.map((_, i) => i + 1));
    expect(agent!.secondsHeard()).toBe(0);
    expect(record).toMatchObject({ status: 'completed' });
    expect(scriptActions(record)).toEqual(['keyed', 'keyed', 'keyed', 'finished']);
  });
});

const scriptActions = ({ script }: { script: { did: string }[] }) => script.map((step) => step.did);

/** Waits until the callee has been silent for 0.6 s. @returns the seconds of speech of the callee since the start */
async function waitForSilence(agent: { secondsHeard(): number }): Promise<number> {
  let spoken = agent.secondsHeard();
  let changedAt = Date.now();
  await until(() => {
    const now = agent.secondsHeard();
    if (now !== spoken) changedAt = Date.now();
    spoken = now;
    return Date.now() - changedAt > 600;
  }, 15_000);
  return spoken;
}

function voicedSeconds(pcm: Int16Array): number {
  return pcm.filter((sample) => Math.abs(sample) > 300).length / 8_000;
}
