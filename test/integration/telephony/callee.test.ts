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

describe('…09', () => {
  it('interrupts the agent in mid-sentence, ignores what still comes of the sentence, goes on, and hangs up', async () => {
    const { agents, sid } = await streamCall(bench, '+12025550109');
    const [agent] = agents;
    agent!.media(speech);
    agent!.mark('sentence');
    await until(() => agent!.secondsHeard() > 0.3);
    // The sentence takes over five seconds; no mark has told its end yet.
    expect(agent!.messages.some(({ event }) => event === 'mark')).toBe(false);
    agent!.clear();
    agent!.media(speech.subarray(0, 8_000));
    const interruption = await quiet(agent!);
    expect(interruption).toBeGreaterThan(1);
    expect(did(await bench.story(sid))).toEqual(['interrupted']);

    agent!.media(speech.subarray(0, 16_000));
    await until(async () => did(await bench.story(sid)).length === 2, 15_000);
    await quiet(agent!);
    agent!.media(speech.subarray(0, 16_000));
    await until(async () => did(await bench.story(sid)).length === 3, 15_000);
    await quiet(agent!);
    agent!.media(speech.subarray(0, 16_000));
    const story = await bench.ended(sid);
    expect(did(story)).toEqual(['interrupted', 'said', 'said', 'finished']);
    expect(story.status).toBe('completed');

    // What was cleared was not heard: two and a half seconds of the first sentence at most, and four short ones.
    const wav = Buffer.from(await (await fetch(`${bench.url}/simulator/calls/${sid}/heard.wav`)).arrayBuffer());
    const samples = new Int16Array(wav.buffer.slice(wav.byteOffset + 44, wav.byteOffset + wav.length));
    expect(voicedSeconds(samples)).toBeLessThan(voicedSeconds(decodeMulaw(speech)) + 7);
  });
});

describe('…10', () => {
  it('keys digits as the carrier tells them, one by one, and does not speak', async () => {
    const { agents, sid } = await streamCall(bench, '+12025550110');
    const [agent] = agents;
    const digits = () => agent!.messages.flatMap(({ dtmf }) => (dtmf === undefined ? [] : [dtmf.digit])).join('');
    for (const expected of ['1', '142#', '142#1']) {
      agent!.media(speech.subarray(0, 16_000));
      await until(() => digits() === expected, 15_000);
    }
    agent!.media(speech.subarray(0, 16_000));
    const story = await bench.ended(sid);
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
    expect(story).toMatchObject({ status: 'completed' });
    expect(did(story)).toEqual(['keyed', 'keyed', 'keyed', 'finished']);
  });
});

const did = ({ script }: { script: { did: string }[] }) => script.map((step) => step.did);

/** Waits until the far end has been quiet for 0.6 s. @returns seconds it has spoken in all */
async function quiet(agent: { secondsHeard(): number }): Promise<number> {
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
