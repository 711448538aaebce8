import type { z } from 'zod';
import { createSynthesizer } from '../../src/voice/audio/flite.js';
import { loadVoiceActivity, type VoiceActivityDetector } from '../../src/voice/audio/voice-activity.js';
import type { ScriptStep } from '../../src/telephony/simulator/far-ends/port.js';
import { createFarEnd } from '../../src/telephony/simulator/far-ends/far-end.js';
import { farEndScript } from '../../src/telephony/simulator/far-end-script.js';
import { createVoices } from '../../src/telephony/simulator/voices.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { tone } from '../integration/telephony/support/agent.js';

type PersonSettings = Omit<Extract<z.input<typeof farEndScript>, { kind: 'person' }>, 'kind'>;

const FRAMES_PER_SECOND = 50;
const NO_AUDIO = new Uint8Array(0);

const voices = createVoices({ logger: createLogger({ role: 'test', level: 'silent' }) });
const synthesizer = createSynthesizer();
let newDetector: () => VoiceActivityDetector;
let sentence: Uint8Array;
let question: Uint8Array;

beforeAll(async () => {
  newDetector = await loadVoiceActivity();
  sentence = await synthesizer.speak(
    'I am calling about your table for two, on Friday evening, at half past seven, by the window.',
    'slt',
  );
  question = await synthesizer.speak('Would you like to confirm it?', 'slt');
});
afterAll(async () => {
  await voices.close();
  await synthesizer.close();
});

/** A person on a line without a clock: each step is 20 ms. */
async function meet(settings: PersonSettings) {
  const script = farEndScript.parse({ kind: 'person', ...settings });
  voices.prepare([script]);
  const steps: Omit<ScriptStep, 'at'>[] = [];
  const keys: { digit: string; frame: number }[] = [];
  let hungUp = false;
  let frame = 0;
  let spoken = 0;
  const person = createFarEnd(script, {
    voices,
    newDetector,
    timeScale: 1,
    hangUp: () => (hungUp = true),
    press: (digit) => keys.push({ digit, frame }),
    note: (step) => steps.push(step),
    beeped: () => undefined,
  });

  async function step(heard: Uint8Array | undefined): Promise<void> {
    frame++;
    person.hear(heard);
    if (person.speak() !== undefined) spoken++;
    // Lines are made by another thread; the person waits for them in real time.
    await new Promise(setImmediate);
  }

  return {
    steps,
    keys,
    person,
    hungUp: () => hungUp,
    spokenSeconds: () => spoken / FRAMES_PER_SECOND,
    /** Plays audio to the person, and then silence for so long. */
    async play(mulaw: Uint8Array, silenceSeconds = 0): Promise<void> {
      for (let at = 0; at < mulaw.length; at += 160) await step(mulaw.subarray(at, at + 160));
      for (let i = 0; i < silenceSeconds * FRAMES_PER_SECOND; i++) await step(undefined);
    },
    /** Silence until the person has finished what it is saying. */
    async listenOn(): Promise<void> {
      for (let before = -1; before !== spoken && !hungUp;) {
        before = spoken;
        await new Promise((resolve) => setTimeout(resolve, 20));
        await this.play(NO_AUDIO, 0.4);
      }
    },
  };
}

/** Lines are made ahead, so that none is waited for while time is counted in steps. */
async function prepared(settings: PersonSettings) {
  const texts = (settings.lines ?? []).flatMap((line) => {
    if (typeof line === 'string') return [line];
    return 'say' in line ? [line.say] : [];
  });
  if (typeof settings.goodbye === 'string') texts.push(settings.goodbye);
  await Promise.all([...texts, 'Hello?'].map((text) => voices.line(text)));
  return meet(settings);
}

const did = (steps: Omit<ScriptStep, 'at'>[]) => steps.map(({ did, text }) => (text === undefined ? did : [did, text]));

describe('a person at the far end', () => {
  it('says its lines in order, each when the agent has finished, then goodbye, and hangs up after the agent’s', async () => {
    const callee = await prepared({ lines: ['Yes.', 'Two people.'], goodbye: 'Bye.' });
    await callee.play(sentence, 0.5);
    expect(callee.steps).toEqual([]);
    await callee.play(NO_AUDIO, 0.5);
    expect(did(callee.steps)).toEqual([['said', 'Yes.']]);
    await callee.listenOn();
    await callee.play(question, 1);
    await callee.listenOn();
    await callee.play(question, 1);
    await callee.listenOn();
    expect(callee.hungUp()).toBe(false);
    await callee.play(question, 1);
    expect(did(callee.steps)).toEqual([['said', 'Yes.'], ['said', 'Two people.'], ['said', 'Bye.'], 'finished']);
    expect(callee.hungUp()).toBe(true);
    expect(callee.spokenSeconds()).toBeGreaterThan(1);
  });

  it('interrupts the agent in mid-sentence', async () => {
    const callee = await prepared({ lines: [{ say: 'Excuse me.', interruptAfterSeconds: 1.5 }] });
    await callee.play(sentence.subarray(0, 8_000));
    expect(callee.steps).toEqual([]);
    await callee.play(sentence.subarray(8_000));
    expect(did(callee.steps)[0]).toEqual(['interrupted', 'Excuse me.']);
    expect(callee.spokenSeconds()).toBeGreaterThan(0.3);
  });

  it('says a line that was to interrupt when the agent has finished before that', async () => {
    const callee = await prepared({ lines: [{ say: 'Excuse me.', interruptAfterSeconds: 20 }] });
    await callee.play(question, 1);
    expect(did(callee.steps)).toEqual([['said', 'Excuse me.']]);
  });

  it('takes what comes right after a clear for the rest of the broken-off sentence, and listens to the next item', async () => {
    const callee = await prepared({ lines: ['Yes.'], nudges: 0 });
    await callee.play(sentence.subarray(0, 8_000));
    callee.person.cleared();
    await callee.play(sentence.subarray(8_000, 24_000), 2);
    expect(callee.steps).toEqual([]);
    await callee.play(question, 1);
    expect(did(callee.steps)).toEqual([['said', 'Yes.']]);
  });

  it('keys digits one by one, and may leave without a word', async () => {
    const callee = await prepared({ lines: [{ keys: '42#' }], goodbye: null });
    await callee.play(question, 2.5);
    expect(callee.keys.map(({ digit }) => digit)).toEqual(['4', '2', '#']);
    const gaps = callee.keys.slice(1).map(({ frame }, i) => frame - (callee.keys[i]?.frame ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(10);
    await callee.play(question, 1);
    expect(did(callee.steps)).toEqual([['keyed', '42#'], 'finished']);
    expect(callee.spokenSeconds()).toBe(0);
  });

  it('waits when the script says so', async () => {
    const callee = await prepared({ lines: [{ waitSeconds: 3 }, 'Here I am.'] });
    await callee.play(question, 3.5);
    expect(did(callee.steps)).toEqual(['waited']);
    await callee.play(NO_AUDIO, 1);
    expect(did(callee.steps)).toEqual(['waited', ['said', 'Here I am.']]);
  });

  it('fails and hangs up when the script is not through in time', async () => {
    const callee = await prepared({ lines: ['Yes.'], patienceSeconds: 2 });
    await callee.play(sentence.subarray(0, 14_400));
    expect(callee.hungUp()).toBe(false);
    await callee.play(sentence.subarray(14_400, 24_000));
    expect(callee.hungUp()).toBe(true);
    expect(did(callee.steps)).toEqual(['timeout']);
  });

  it('does not take a loud tone for words', async () => {
    const callee = await prepared({ lines: ['Yes.'], nudges: 0 });
    await callee.play(tone(2_000), 1.5);
    expect(callee.steps).toEqual([]);
  });

  it('asks into silence, so often as the script says, and goes on without the agent', async () => {
    const callee = await prepared({ lines: ['Yes.'], nudges: 1 });
    await callee.play(NO_AUDIO, 5.1);
    await callee.listenOn();
    await callee.play(NO_AUDIO, 5.1);
    expect(did(callee.steps)).toEqual([
      ['nudged', 'Hello?'],
      ['said', 'Yes.'],
    ]);
  });

  it.each([
    ['too many lines', { lines: Array.from({ length: 21 }, () => 'Yes.') }],
    ['a line without end', { lines: ['x'.repeat(501)] }],
    ['a key that no telephone has', { lines: [{ keys: '1x' }] }],
  ])('has no script with %s', (_, settings) => {
    expect(farEndScript.safeParse({ kind: 'person', ...settings }).success).toBe(false);
  });
});
