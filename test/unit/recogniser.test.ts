import { createSynthesizer } from '../../src/voice/audio/flite.js';
import type { FliteVoice } from '../../src/voice/audio/flite.js';
import { UnspeakableChoice } from '../../src/voice/audio/grammar.js';
import type { Grammar } from '../../src/voice/audio/grammar.js';
import { createRecogniser } from '../../src/voice/audio/recogniser.js';
import { brief, onTheLine, silence } from '../support/spoken';

const YES_NO: Grammar = { kind: 'yes-no' };
const DIGITS: Grammar = { kind: 'digits' };
const SIZES: Grammar = { kind: 'choices', choices: ['small', 'medium', 'large', 'extra-large'] };

describe('the recogniser', () => {
  const synthesizer = createSynthesizer();
  const recogniser = createRecogniser();
  afterAll(() => Promise.all([synthesizer.close(), recogniser.close()]));

  async function hear(text: string, grammar: Grammar, voice: FliteVoice = 'rms') {
    return recogniser.recognise(onTheLine(await synthesizer.speak(text, voice)), grammar);
  }

  async function meaning(text: string, grammar: Grammar, voice?: FliteVoice): Promise<string> {
    const heard = await hear(text, grammar, voice);
    return heard.outcome === 'understood' ? brief(heard.meaning) : heard.outcome;
  }

  it.each([
    ['yes', 'yes'],
    ['yep', 'yes'],
    ['sure', 'yes'],
    ['yes, please', 'yes'],
    ['correct', 'yes'],
    ['yes, that is right', 'yes'],
    ['no', 'no'],
    ['nope', 'no'],
    ['not really', 'no'],
    ['that is wrong', 'no'],
    ['no, that is not right', 'no'],
  ])('takes %p for %s', async (said, meant) => {
    expect(await meaning(said, YES_NO)).toBe(meant);
  });

  it.each(['rms', 'slt'] as const)('understands digits of the voice %s', async (voice) => {
    const heard = await hear('four one five two', DIGITS, voice);
    expect(heard).toEqual({
      outcome: 'understood',
      text: 'four one five two',
      meaning: { kind: 'digits', digits: '4152' },
    });
  });

  it('counts oh and zero the same', async () => {
    expect([await meaning('oh seven', DIGITS), await meaning('zero seven', DIGITS)]).toEqual(['07', '07']);
  });

  it('tells a choice from one that is part of it', async () => {
    expect(await meaning('large', SIZES)).toBe('choice 2');
    expect(await meaning('extra large please', SIZES)).toBe('choice 3');
  });

  it('understands choices that its dictionary does not know, by their spelling', async () => {
    const dishes: Grammar = { kind: 'choices', choices: ['Pizzarella', 'Gnorbito', 'Zaatarwrap'] };
    expect(await meaning('Gnorbito', dishes)).toBe('choice 1');
    expect(await meaning('Pizzarella', dishes)).toBe('choice 0');
  });

  it.each([
    ['pardon', 'repeat'],
    ['say that again please', 'repeat'],
    ['operator', 'operator'],
    ['hello', 'hello'],
    ['thank you, goodbye', 'goodbye'],
  ])('understands %p at any time', async (said, command) => {
    expect(await meaning(said, YES_NO)).toBe(command);
    expect(await meaning(said, DIGITS)).toBe(command);
  });

  it.each([
    'My dog ate the newspaper.',
    'Hold on a moment, let me get my husband.',
    'I have no idea what you are talking about.',
    'Tell me about your company.',
  ])('takes %p for nothing rather than for the nearest word', async (said) => {
    expect(await meaning(said, YES_NO)).toBe('not understood');
    expect(await meaning(said, DIGITS)).toBe('not understood');
    expect(await meaning(said, SIZES)).toBe('not understood');
  });

  it('hears nothing in silence, in an empty utterance and in one of a minute', async () => {
    for (const ms of [1_000, 0, 60_000]) {
      expect(await recogniser.recognise(silence(ms), YES_NO)).toEqual({ outcome: 'not understood' });
    }
  });

  it('refuses choices that cannot be said, by name', async () => {
    const choices: Grammar = { kind: 'choices', choices: ['small', '大'] };
    await expect(recogniser.recognise(silence(500), choices)).rejects.toThrow(new UnspeakableChoice('大'));
  });

  it('says so when too many speak at once, and goes on with the others', async () => {
    const crowded = createRecogniser({ maxWaiting: 2 });
    const yes = onTheLine(await synthesizer.speak('yes', 'rms'));
    const heard = await Promise.all([1, 2, 3].map(() => crowded.recognise(yes, YES_NO)));
    expect(heard.map(({ outcome }) => outcome)).toEqual(['understood', 'understood', 'overloaded']);
    expect((await crowded.recognise(yes, YES_NO)).outcome).toBe('understood');
    await crowded.close();
    await expect(crowded.recognise(yes, YES_NO)).rejects.toThrow('closed');
  });

  it('leaves the handlers of uncaught errors of this process alone', async () => {
    const before = process.listenerCount('uncaughtException');
    await meaning('yes', YES_NO);
    expect(process.listenerCount('uncaughtException')).toBe(before);
  });
});
