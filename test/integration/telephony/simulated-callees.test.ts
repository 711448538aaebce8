import { createSynthesizer } from '../../../src/voice/audio/flite.js';
import { decodeMulaw } from '../../../src/voice/audio/mulaw.js';
import { openAgent, tone, type Agent } from './support/agent.js';
import { streamTwiml } from './support/customer.js';
import { startBench, until, type Bench } from './support/simulator.js';

let bench: Bench;
let agents: Agent[];
/** Speech of the agent, about one second long. */
let agentSpeech: Uint8Array;
const synthesizer = createSynthesizer();
beforeAll(async () => {
  agentSpeech = await synthesizer.speak('How are you today?', 'slt');
  bench = await startBench({ SIMULATOR_TIME_SCALE: '0.1' });
});
afterAll(async () => {
  await synthesizer.close();
  await bench.close();
});

beforeEach(() => {
  agents = [];
  bench.customer.onStream = (socket) => agents.push(openAgent(socket));
  bench.customer.answer = ({ path }) =>
    path.endsWith('/twiml') ? streamTwiml(`${bench.customer.streamUrl}/stream/x`) : undefined;
});

async function streamWith(digits: string): Promise<{ agent: Agent; sid: string }> {
  const outcome = await bench.carrier.dial({
    callId: `call_${digits}`,
    to: `+120255501${digits}`,
    from: '+15005550006',
    ringTimeoutSeconds: 30,
    timeLimitSeconds: 60,
  });
  if (outcome.outcome !== 'accepted') throw new Error(outcome.outcome);
  await until(() => agents[0]?.messages.some(({ event }) => event === 'media') ?? false);
  return { agent: agents[0]!, sid: outcome.carrierSid };
}

/** Speaks as the agent. Then waits until the callee has spoken and has been silent for 0.6 s. */
async function converse(agent: Agent): Promise<number> {
  const before = agent.secondsHeard();
  agent.media(agentSpeech);
  let spoken = before;
  let changedAt = Date.now();
  await until(() => {
    const now = agent.secondsHeard();
    if (now !== spoken) changedAt = Date.now();
    spoken = now;
    return spoken > before && Date.now() - changedAt > 600;
  }, 15_000);
  return spoken - before;
}

describe('a person', () => {
  it('waits for the agent, speaks, says goodbye, and hangs up after the agent’s last turn', async () => {
    const { agent, sid } = await streamWith('00');
    expect(await converse(agent)).toBeGreaterThan(0.5);
    expect(await converse(agent)).toBeGreaterThan(0.5);
    expect((await bench.getCall(sid)).status).toBe('in-progress');
    agent.media(agentSpeech);
    await agent.closed;
    expect(agent.messages.at(-1)?.event).toBe('stop');
    const record = await bench.waitForEnd(sid);
    expect(record.status).toBe('completed');
    expect(record.duration_seconds).toBeGreaterThanOrEqual(5);
    expect(record.duration_seconds).toBeLessThan(20);
  });

  it('does not count cleared audio as a turn of the agent', async () => {
    const { agent, sid } = await streamWith('00');
    agent.media(tone(5_000));
    await new Promise((resolve) => setTimeout(resolve, 500));
    agent.clear();
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(agent.secondsHeard()).toBe(0);
    await bench.carrier.hangUp(sid);
  });

  it('reprompts a silent agent, then hangs up', async () => {
    const { agent, sid } = await streamWith('00');
    await bench.waitForEnd(sid, 50_000);
    expect(agent.secondsHeard()).toBeGreaterThan(1);
  });
});

describe('voicemail', () => {
  it('greets, beeps at 1 kHz, is silent, and hangs up', async () => {
    const { agent, sid } = await streamWith('05');
    await bench.waitForEnd(sid);
    const line = Buffer.concat(
      agent.messages.flatMap(({ media }) => (media === undefined ? [] : [Buffer.from(media.payload, 'base64')])),
    );
    const pcm = decodeMulaw(line);
    const tones = Array.from({ length: Math.floor(pcm.length / 160) }, (_, i) =>
      isTone(pcm.subarray(i * 160, i * 160 + 160)),
    );
    const beep = tones.lastIndexOf(true);
    expect(tones.filter(Boolean).length).toBeGreaterThanOrEqual(23);
    // With the time scale of this test, a scripted second takes a tenth of a second.
    const silence = pcm.subarray((beep + 1) * 160);
    expect(silence.length / 8_000).toBeGreaterThan(0.8);
    expect(silence.length / 8_000).toBeLessThan(2);
    expect(silence.every((sample) => sample === 0)).toBe(true);
    expect(beep * 0.02).toBeGreaterThan(2);
  });
});

describe('other callees', () => {
  it('…07 is silent and stays', async () => {
    const { agent, sid } = await streamWith('07');
    agent.media(tone(500));
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(agent.secondsHeard()).toBe(0);
    expect((await bench.getCall(sid)).status).toBe('in-progress');
    await bench.carrier.hangUp(sid);
  });

  it('…08 speaks and does not stop', async () => {
    const { agent, sid } = await streamWith('08');
    await until(() => agent.secondsHeard() > 8, 30_000);
    expect((await bench.getCall(sid)).status).toBe('in-progress');
    await bench.carrier.hangUp(sid);
  });
});

/** Whether nearly all of a frame's energy is at 1 kHz (Goertzel). */
function isTone(frame: Int16Array): boolean {
  let [re, im, energy] = [0, 0, 0];
  frame.forEach((sample, i) => {
    re += sample * Math.cos((2 * Math.PI * i) / 8);
    im += sample * Math.sin((2 * Math.PI * i) / 8);
    energy += sample * sample;
  });
  return energy > 1e6 && (2 * (re * re + im * im)) / (frame.length * energy) > 0.95;
}
