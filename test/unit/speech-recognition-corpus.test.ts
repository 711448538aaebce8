import { createSynthesizer } from '../../src/voice/audio/flite.js';
import type { FliteVoice } from '../../src/voice/audio/flite.js';
import type { Grammar } from '../../src/voice/audio/grammar.js';
import { createGrammarStt } from '../../src/voice/audio/grammar-stt.js';
import { brief, onTheLine } from '../support/spoken';

// All tests of this file together take a minute on an idle machine.
jest.setTimeout(600_000);

const DIGITS = [
  'four one five two',
  'zero seven three',
  'nine nine one',
  'six two eight four five',
  'oh four one seven',
  'two',
  'five',
  'eight three',
  'three one zero six two nine four',
  'one two three four',
  'seven seven',
  'four',
];
const YES = ['yes', 'yep', 'sure', 'correct', 'yes please', 'that is right', 'yes it is', 'okay', 'of course'];
const NO = ['no', 'nope', 'wrong', 'not really', 'no thank you', 'no that is not right', 'that is wrong'];
const SIZES = ['small', 'medium', 'large', 'extra large'];
const ELSE = [
  'who is speaking please',
  'hold on a moment let me get my husband',
  'the weather is lovely today',
  'my dog ate the newspaper',
  'maybe next week would be better for us',
  'I have no idea what you are talking about',
  'tell me about your company',
  'listen I am driving right now',
  'mushrooms and cheese',
  'I will call you back tomorrow afternoon',
];

/**
 * Detects a change that makes the offline speech recognition worse, with synthetic voices and no noise. It does not
 * measure how well people are understood: see docs/conversation.md.
 */
describe('offline speech recognition on a fixed corpus', () => {
  const synthesizer = createSynthesizer();
  const recognizer = createGrammarStt();
  afterAll(() => Promise.all([synthesizer.close(), recognizer.close()]));

  async function understand(text: string, grammar: Grammar, voice: FliteVoice): Promise<string> {
    const heard = await recognizer.recognize(onTheLine(await synthesizer.speak(text, voice)), grammar);
    return heard.outcome === 'understood' ? brief(heard.meaning) : '';
  }

  /**
   * Recognizes the texts one after another, because an utterance that waits for others has less time for recognition.
   */
  async function understandAll(texts: readonly string[], grammar: Grammar, voice: FliteVoice): Promise<string[]> {
    const heard: string[] = [];
    for (const text of texts) heard.push(await understand(text, grammar, voice));
    return heard;
  }

  it.each([
    ['rms', 12],
    ['slt', 15],
  ] as const)('understands digits of the voice %s with an error rate of at most %i %%', async (voice, percent) => {
    let [wrong, all] = [0, 0];
    for (const text of DIGITS) {
      const heard = await understand(text, { kind: 'digits' }, voice);
      const said = text.split(' ').map((word) => DIGIT_OF[word] ?? '?');
      wrong += /^\d*$/.test(heard) ? distance(said, heard.split('')) : said.length;
      all += said.length;
    }
    process.stderr.write(`\ndigits of ${voice}: ${((100 * wrong) / all).toFixed(1)} % wrong\n`);
    expect((100 * wrong) / all).toBeLessThanOrEqual(percent);
  });

  it.each(['rms', 'slt'] as const)(
    'never confuses yes and no of the voice %s, and understands most of them',
    async (voice) => {
      const spoken = [...YES.map((text) => [text, 'yes'] as const), ...NO.map((text) => [text, 'no'] as const)];
      const heard = await understandAll(
        spoken.map(([text]) => text),
        { kind: 'yes-no' },
        voice,
      );
      const opposite = { yes: 'no', no: 'yes' };
      expect(spoken.filter(([, meant], i) => heard[i] === opposite[meant])).toEqual([]);
      const share = spoken.filter(([, meant], i) => heard[i] === meant).length / spoken.length;
      process.stderr.write(`\nyes and no of ${voice}: ${(100 * share).toFixed(0)} % understood\n`);
      expect(share).toBeGreaterThanOrEqual(0.8);
    },
  );

  it.each([
    ['rms', 4],
    ['slt', 3],
  ] as const)('understands, of four choices of the voice %s, at least %i', async (voice, least) => {
    const grammar: Grammar = { kind: 'choices', choices: SIZES };
    const heard = await understandAll(SIZES, grammar, voice);
    const right = heard.filter((meaning, index) => meaning === `choice ${index}`);
    expect(right.length).toBeGreaterThanOrEqual(least);
    expect(heard.filter((meaning) => meaning !== '')).toEqual(right);
  });

  it.each(['rms', 'slt'] as const)(
    'mistakes at most one of ten other sentences of the voice %s for an answer',
    async (voice) => {
      const grammars: Grammar[] = [{ kind: 'yes-no' }, { kind: 'digits' }, { kind: 'choices', choices: SIZES }];
      for (const grammar of grammars) {
        const heard = await understandAll(ELSE, grammar, voice);
        const answers = heard.filter((meaning) => !['', 'repeat', 'hello', 'operator'].includes(meaning));
        expect(answers.length).toBeLessThanOrEqual(1);
      }
    },
  );
});

const DIGIT_OF: Readonly<Record<string, string>> = {
  zero: '0',
  oh: '0',
  one: '1',
  two: '2',
  three: '3',
  four: '4',
  five: '5',
  six: '6',
  seven: '7',
  eight: '8',
  nine: '9',
};

/** The minimum number of insertions, deletions and substitutions between two sequences. */
function distance(from: readonly string[], to: readonly string[]): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (const [i, expected] of from.entries()) {
    const next = [i + 1];
    for (const [j, found] of to.entries()) {
      const substituted = (row[j] ?? 0) + (expected === found ? 0 : 1);
      next.push(Math.min(substituted, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
