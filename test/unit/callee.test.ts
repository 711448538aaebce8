import type { z } from 'zod';
import { createSynthesizer } from '../../src/voice/audio/flite.js';
import { loadVoiceActivity, type VoiceActivityDetector } from '../../src/voice/audio/voice-activity.js';
import type { ScriptStep } from '../../src/telephony/simulator/remote-parties/port.js';
import { createRemoteParty } from '../../src/telephony/simulator/remote-parties/create-remote-party.js';
import { remotePartyScript } from '../../src/telephony/simulator/remote-party-script.js';
import { createVoices } from '../../src/telephony/simulator/voices.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { tone } from '../integration/telephony/support/agent.js';

type PersonSettings = Omit<Extract<z.input<typeof remotePartyScript>, { kind: 'person' }>, 'kind'>;

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

/** A simulated person who does not use the real clock. Each step stands for 20 ms of the call. */
async function startPerson(settings: PersonSettings) {
  const script = remotePartyScript.parse({ kind: 'person', ...settings });
  voices.synthesizeAhead([script]);
  const steps: Omit<ScriptStep, 'at'>[] = [];
  const pressed: { digit: string; frame: number }[] = [];
  let hungUp = false;
  let frame = 0;
  let spokenFrames = 0;
  const person = createRemoteParty(script, {
    voices,
    newDetector,
    timeScale: 1,
    hangUp: () => (hungUp = true),
    pressDigit: (digit) => pressed.push({ digit, frame }),
    recordStep: (step) => steps.push(step),
    greetingEnded: () => undefined,
  });

  async function step(audio: Uint8Array | undefined): Promise<void> {
    frame++;
    person.receiveFrame(audio);
    if (person.nextFrame() !== undefined) spokenFrames++;
    // Another thread synthesizes the person's speech. So the test lets the event loop turn, in real time, until the
    // speech is ready.
    await new Promise(setImmediate);
  }

  return {
    steps,
    pressed,
    person,
    hungUp: () => hungUp,
    spokenSeconds: () => spokenFrames / FRAMES_PER_SECOND,
    /** Plays audio to the person, and then silence of this length. */
    async play(mulaw: Uint8Array, silenceSeconds = 0): Promise<void> {
      for (let at = 0; at < mulaw.length; at += 160) await step(mulaw.subarray(at, at + 160));
      for (let i = 0; i < silenceSeconds * FRAMES_PER_SECOND; i++) await step(undefined);
    },
    /** Plays silence until the person has finished speaking. */
    async waitUntilQuiet(): Promise<void> {
      for (let before = -1; before !== spokenFrames && !hungUp;) {
        before = spokenFrames;
        await new Promise((resolve) => setTimeout(resolve, 20));
        await this.play(NO_AUDIO, 0.4);
      }
    },
  };
}

/** Starts a person whose speech is synthesized in advance, so that no step waits for it. */
async function startPreparedPerson(settings: PersonSettings) {
  const texts = (settings.lines ?? []).flatMap((line) => {
    if (typeof line === 'string') return [line];
    return 'say' in line ? [line.say] : [];
  });
  if (typeof settings.goodbye === 'string') texts.push(settings.goodbye);
  await Promise.all([...texts, 'Hello?'].map((text) => voices.synthesize(text)));
  return startPerson(settings);
}

const summaryOf = (steps: Omit<ScriptStep, 'at'>[]) =>
  steps.map(({ did, text }) => (text === undefined ? did : [did, text]));

describe('the simulated person on a call', () => {
  it('says each line after the agent has finished, then goodbye, and hangs up after the agent’s reply', async () => {
    const callee = await startPreparedPerson({ lines: ['Yes.', 'Two people.'], goodbye: 'Bye.' });
    await callee.play(sentence, 0.5);
    expect(callee.steps).toEqual([]);
    await callee.play(NO_AUDIO, 0.5);
    expect(summaryOf(callee.steps)).toEqual([['said', 'Yes.']]);
    await callee.waitUntilQuiet();
    await callee.play(question, 1);
    await callee.waitUntilQuiet();
    await callee.play(question, 1);
    await callee.waitUntilQuiet();
    expect(callee.hungUp()).toBe(false);
    await callee.play(question, 1);
    expect(summaryOf(callee.steps)).toEqual([['said', 'Yes.'], ['said', 'Two people.'], ['said', 'Bye.'], 'finished']);
    expect(callee.hungUp()).toBe(true);
    expect(callee.spokenSeconds()).toBeGreaterThan(1);
  });

  it('interrupts the agent in mid-sentence', async () => {
    const callee = await startPreparedPerson({ lines: [{ say: 'Excuse me.', interruptAfterSeconds: 1.5 }] });
    await callee.play(sentence.subarray(0, 8_000));
    expect(callee.steps).toEqual([]);
    await callee.play(sentence.subarray(8_000));
    expect(summaryOf(callee.steps)[0]).toEqual(['interrupted', 'Excuse me.']);
    expect(callee.spokenSeconds()).toBeGreaterThan(0.3);
  });

  it('says an interrupting line early if the agent finishes before', async () => {
    const callee = await startPreparedPerson({ lines: [{ say: 'Excuse me.', interruptAfterSeconds: 20 }] });
    await callee.play(question, 1);
    expect(summaryOf(callee.steps)).toEqual([['said', 'Excuse me.']]);
  });

  it('treats audio right after a clear as the rest of the old sentence, and reacts to the next item', async () => {
    const callee = await startPreparedPerson({ lines: ['Yes.'], nudges: 0 });
    await callee.play(sentence.subarray(0, 8_000));
    callee.person.playbackCleared();
    await callee.play(sentence.subarray(8_000, 24_000), 2);
    expect(callee.steps).toEqual([]);
    await callee.play(question, 1);
    expect(summaryOf(callee.steps)).toEqual([['said', 'Yes.']]);
  });

  it('presses digits one by one and can hang up without a goodbye', async () => {
    const callee = await startPreparedPerson({ lines: [{ digits: '42#' }], goodbye: null });
    await callee.play(question, 2.5);
    expect(callee.pressed.map(({ digit }) => digit)).toEqual(['4', '2', '#']);
    const gaps = callee.pressed.slice(1).map(({ frame }, i) => frame - (callee.pressed[i]?.frame ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(10);
    await callee.play(question, 1);
    expect(summaryOf(callee.steps)).toEqual([['keyed', '42#'], 'finished']);
    expect(callee.spokenSeconds()).toBe(0);
  });

  it('waits when the script says so', async () => {
    const callee = await startPreparedPerson({ lines: [{ waitSeconds: 3 }, 'Here I am.'] });
    await callee.play(question, 3.5);
    expect(summaryOf(callee.steps)).toEqual(['waited']);
    await callee.play(NO_AUDIO, 1);
    expect(summaryOf(callee.steps)).toEqual(['waited', ['said', 'Here I am.']]);
  });

  it('fails and hangs up when the script exceeds its timeout', async () => {
    const callee = await startPreparedPerson({ lines: ['Yes.'], timeoutSeconds: 2 });
    await callee.play(sentence.subarray(0, 14_400));
    expect(callee.hungUp()).toBe(false);
    await callee.play(sentence.subarray(14_400, 24_000));
    expect(callee.hungUp()).toBe(true);
    expect(summaryOf(callee.steps)).toEqual(['timeout']);
  });

  it('does not mistake a loud tone for speech', async () => {
    const callee = await startPreparedPerson({ lines: ['Yes.'], nudges: 0 });
    await callee.play(tone(2_000), 1.5);
    expect(callee.steps).toEqual([]);
  });

  it('asks into silence as often as the script allows, then continues without the agent', async () => {
    const callee = await startPreparedPerson({ lines: ['Yes.'], nudges: 1 });
    await callee.play(NO_AUDIO, 5.1);
    await callee.waitUntilQuiet();
    await callee.play(NO_AUDIO, 5.1);
    expect(summaryOf(callee.steps)).toEqual([
      ['nudged', 'Hello?'],
      ['said', 'Yes.'],
    ]);
  });

  it.each([
    ['too many lines', { lines: Array.from({ length: 21 }, () => 'Yes.') }],
    ['a line that is too long', { lines: ['x'.repeat(501)] }],
    ['a DTMF digit that does not exist', { lines: [{ digits: '1x' }] }],
  ])('rejects a script with %s', (_, settings) => {
    expect(remotePartyScript.safeParse({ kind: 'person', ...settings }).success).toBe(false);
  });
});
