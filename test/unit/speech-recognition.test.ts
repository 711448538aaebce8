import { createSynthesizer } from '../../src/voice/audio/flite.js';
import type { FliteVoice } from '../../src/voice/audio/flite.js';
import { UnspeakableChoiceError } from '../../src/voice/audio/grammar.js';
import type { Grammar } from '../../src/voice/audio/grammar.js';
import { createGrammarStt } from '../../src/voice/audio/grammar-stt.js';
import { brief, onTheLine, silence } from '../support/spoken';

const YES_NO: Grammar = { kind: 'yes-no' };
const DIGITS: Grammar = { kind: 'digits' };
const SIZES: Grammar = { kind: 'choices', choices: ['small', 'medium', 'large', 'extra-large'] };

describe('offline speech recognition', () => {
  const synthesizer = createSynthesizer();
  const recognizer = createGrammarStt();
  afterAll(() => Promise.all([synthesizer.close(), recognizer.close()]));

  async function recognize(text: string, grammar: Grammar, voice: FliteVoice = 'rms') {
    return recognizer.recognize(onTheLine(await synthesizer.speak(text, voice)), grammar);
  }

  async function meaning(text: string, grammar: Grammar, voice?: FliteVoice): Promise<string> {
    const heard = await recognize(text, grammar, voice);
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
  ])('understands %p as %s', async (said, meant) => {
    expect(await meaning(said, YES_NO)).toBe(meant);
  });

  it.each(['rms', 'slt'] as const)('understands digits of the voice %s', async (voice) => {
    const heard = await recognize('four one five two', DIGITS, voice);
    expect(heard).toEqual({
      outcome: 'understood',
      text: 'four one five two',
      meaning: { kind: 'digits', digits: '4152' },
    });
  });

  it('treats oh and zero as the same digit', async () => {
    expect([await meaning('oh seven', DIGITS), await meaning('zero seven', DIGITS)]).toEqual(['07', '07']);
  });

  it('distinguishes a choice from a longer one that contains it', async () => {
    expect(await meaning('large', SIZES)).toBe('choice 2');
    expect(await meaning('extra large please', SIZES)).toBe('choice 3');
  });

  it('understands choices that are not in its dictionary, by their spelling', async () => {
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
  ])('understands the command %p at any time', async (said, command) => {
    expect(await meaning(said, YES_NO)).toBe(command);
    expect(await meaning(said, DIGITS)).toBe(command);
  });

  it.each([
    'My dog ate the newspaper.',
    'Hold on a moment, let me get my husband.',
    'I have no idea what you are talking about.',
    'Tell me about your company.',
  ])('does not force %p into the nearest answer', async (said) => {
    expect(await meaning(said, YES_NO)).toBe('not understood');
    expect(await meaning(said, DIGITS)).toBe('not understood');
    expect(await meaning(said, SIZES)).toBe('not understood');
  });

  it('finds no answer in silence, an empty utterance and a minute of silence', async () => {
    for (const ms of [1_000, 0, 60_000]) {
      expect(await recognizer.recognize(silence(ms), YES_NO)).toEqual({ outcome: 'not understood' });
    }
  });

  it('rejects a choice that cannot be pronounced, by name', async () => {
    const choices: Grammar = { kind: 'choices', choices: ['small', '大'] };
    await expect(recognizer.recognize(silence(500), choices)).rejects.toThrow(new UnspeakableChoiceError('大'));
  });

  it('reports overload if too many callers speak at once, and continues with the others', async () => {
    const crowded = createGrammarStt({ maxQueued: 2 });
    const yes = onTheLine(await synthesizer.speak('yes', 'rms'));
    const heard = await Promise.all([1, 2, 3].map(() => crowded.recognize(yes, YES_NO)));
    expect(heard.map(({ outcome }) => outcome)).toEqual(['understood', 'understood', 'overloaded']);
    expect((await crowded.recognize(yes, YES_NO)).outcome).toBe('understood');
    await crowded.close();
    await expect(crowded.recognize(yes, YES_NO)).rejects.toThrow('closed');
  });

  it('adds no uncaught exception handler to the process', async () => {
    const before = process.listenerCount('uncaughtException');
    await meaning('yes', YES_NO);
    expect(process.listenerCount('uncaughtException')).toBe(before);
  });
});
