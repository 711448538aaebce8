import { createSynthesizer } from '../../src/voice/audio/flite.js';
import type { FliteVoice } from '../../src/voice/audio/flite.js';
import type { Grammar } from '../../src/voice/audio/grammar.js';
import { createRecogniser } from '../../src/voice/audio/recogniser.js';
import { brief, onTheLine } from '../support/spoken';

// An idle machine takes a minute for all of them.
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
 * An alarm for a change that makes the recogniser worse, on synthetic voices in silence. It says nothing of how well
 * people are understood: see docs/conversation.md.
 */
describe('the recogniser on a fixed spoken corpus', () => {
  const synthesizer = createSynthesizer();
  const recogniser = createRecogniser();
  afterAll(() => Promise.all([synthesizer.close(), recogniser.close()]));

  async function understand(text: string, grammar: Grammar, voice: FliteVoice): Promise<string> {
    const heard = await recogniser.recognise(onTheLine(await synthesizer.speak(text, voice)), grammar);
    return heard.outcome === 'understood' ? brief(heard.meaning) : '';
  }

  /** One after another: an utterance that waits for others loses of the time it may take. */
  async function understandAll(texts: readonly string[], grammar: Grammar, voice: FliteVoice): Promise<string[]> {
    const heard: string[] = [];
    for (const text of texts) heard.push(await understand(text, grammar, voice));
    return heard;
  }

  it.each([
    ['rms', 12],
    ['slt', 15],
  ] as const)('understands the digits of %s with at most %i %% of them wrong', async (voice, percent) => {
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
    'never takes yes and no of %s for each other, and hears most of them',
    async (voice) => {
      const asked = [...YES.map((text) => [text, 'yes'] as const), ...NO.map((text) => [text, 'no'] as const)];
      const heard = await understandAll(
        asked.map(([text]) => text),
        { kind: 'yes-no' },
        voice,
      );
      const opposite = { yes: 'no', no: 'yes' };
      expect(asked.filter(([, meant], i) => heard[i] === opposite[meant])).toEqual([]);
      const share = asked.filter(([, meant], i) => heard[i] === meant).length / asked.length;
      process.stderr.write(`\nyes and no of ${voice}: ${(100 * share).toFixed(0)} % understood\n`);
      expect(share).toBeGreaterThanOrEqual(0.8);
    },
  );

  it.each([
    ['rms', 4],
    ['slt', 3],
  ] as const)('hears of four choices of %s at least %i', async (voice, least) => {
    const grammar: Grammar = { kind: 'choices', choices: SIZES };
    const heard = await understandAll(SIZES, grammar, voice);
    const right = heard.filter((meaning, index) => meaning === `choice ${index}`);
    expect(right.length).toBeGreaterThanOrEqual(least);
    expect(heard.filter((meaning) => meaning !== '')).toEqual(right);
  });

  it.each(['rms', 'slt'] as const)('takes at most one of ten other sentences of %s for an answer', async (voice) => {
    const grammars: Grammar[] = [{ kind: 'yes-no' }, { kind: 'digits' }, { kind: 'choices', choices: SIZES }];
    for (const grammar of grammars) {
      const heard = await understandAll(ELSE, grammar, voice);
      const answers = heard.filter((meaning) => !['', 'repeat', 'hello', 'operator'].includes(meaning));
      expect(answers.length).toBeLessThanOrEqual(1);
    }
  });
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

/** Least insertions, deletions and substitutions from one to the other. */
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
