import { createNationalPattern } from '../../src/calls/erasure/national-pattern.js';
import { createNumberPattern } from '../../src/calls/erasure/number-pattern.js';
import { hasNumber } from '../../src/calls/erasure/redaction.js';
import { replaceInTranscript, replaceInTurns } from '../../src/calls/erasure/spoken-turns.js';
import { nationalFormsOf } from '../../src/platform/numbering/national-forms.js';
import { SPELLINGS } from '../support/number-spellings.js';

const pattern = createNumberPattern('+12025550143');

describe('the pattern of an erased number', () => {
  it.each(SPELLINGS)('finds and replaces %s', (text) => {
    const patterns = [pattern, createNumberPattern('+442079460958')];
    const found = patterns.filter((each) => each.isIn(text));
    expect(found).toHaveLength(1);
    expect(found[0]?.replaceIn(`Call ${text}, please.`, 'X')).not.toMatch(/\p{Nd}{2}|[%+\\]/u);
  });

  it.each(['https://example.com/?to=%2B12025550143&x=1', '{"text":"agent: Hello.\\n12025550143"}'])(
    'finds it in %s',
    (text) => {
      expect(pattern.isIn(text)).toBe(true);
      const replaced = pattern.replaceIn(text, 'X');
      expect(replaced).toContain('X');
      expect(replaced).not.toMatch(/\d{3}/);
    },
  );

  it.each(['+120255501430', '912025550143', '+12025550144', '1202555014', '1\u200b12025550143', 'call_12', ''])(
    'leaves %s',
    (text) => {
      expect(pattern.isIn(text)).toBe(false);
      expect(pattern.replaceIn(text, 'X')).toBe(text);
    },
  );

  it.each(['1 - ', '1', '12025550 ', '+1', '0', '\\', '\\n', '%31', '(0)', '+1 (0)', '1\u200b', '1\u0301', '%', '1+'])(
    'takes linear time on long texts of %s',
    (part) => {
      const text = part.repeat(100_000);
      const begin = performance.now();
      pattern.replaceIn(text, 'X');
      expect(performance.now() - begin).toBeLessThan(2_000);
    },
  );

  describe('divided between turns', () => {
    const turns = [
      { speaker: 'caller', text: 'It is +1 202.', startMs: 0 },
      { speaker: 'agent', text: 'Yes, 77?', startMs: 1 },
      { speaker: 'caller', text: '555', startMs: 2 },
      { speaker: 'caller', text: '0143, thanks.', startMs: 3 },
    ];
    const transcript = turns.map(({ speaker, text }) => `${speaker}: ${text}`).join('\n');

    it('is found in the turns of one speaker, in a transcript, and in a transcript in JSON', () => {
      for (const words of [turns, transcript, JSON.stringify({ transcription: transcript })]) {
        expect(hasNumber({ words }, pattern)).toBe(true);
      }
      expect(pattern.isIn(transcript)).toBe(false);
    });

    it('is replaced in each turn, and all else stays', () => {
      const changed = 'caller: It is X\nagent: Yes, 77?\ncaller: X\ncaller: X, thanks.';
      expect(replaceInTranscript(transcript, pattern, 'X')).toBe(changed);
      expect(replaceInTranscript(`Notes.\n${transcript}`, pattern, 'X')).toBe(`Notes.\n${changed}`);
      expect(replaceInTurns(turns, pattern, 'X')).toEqual(['It is X', 'Yes, 77?', 'X', 'X, thanks.']);
    });

    it('is not found if the two speakers have said it together, or in a text that is no transcript', () => {
      const mixed = turns.map((turn, index) => ({ ...turn, speaker: index === 3 ? 'agent' : turn.speaker }));
      expect(hasNumber({ mixed }, pattern)).toBe(false);
      expect(replaceInTurns(mixed, pattern, 'X')).toEqual(mixed.map(({ text }) => text));
      for (const text of ['+1 202, then 555 0143', 'agent: +1 202', '']) {
        expect(hasNumber({ text }, pattern)).toBe(false);
        expect(replaceInTranscript(text, pattern, 'X')).toBe(text);
      }
    });

    it.each(['caller: 1\n', 'agent: +12025550143\ncaller: 1\n', 'caller: '])(
      'takes linear time on long transcripts of %s',
      (part) => {
        const text = part.repeat(30_000);
        const begin = performance.now();
        replaceInTranscript(text, pattern, 'X');
        expect(performance.now() - begin).toBeLessThan(2_000);
      },
    );
  });

  it('is found in any field of a document, also in its name', () => {
    expect(hasNumber({ _id: 'x', turns: [{ text: 'It is 12025550143.' }] }, pattern)).toBe(true);
    expect(hasNumber({ counts: { '+12025550143': 1 } }, pattern)).toBe(true);
    expect(hasNumber({ at: new Date(), cost: 12_025_550_143, turns: [{ text: 'No number.' }] }, pattern)).toBe(false);
  });
});

describe('the pattern of an erased number in a call with its country', () => {
  async function patternsOf(number: string) {
    const forms = await nationalFormsOf(number);
    if (forms === undefined) throw new Error('No country has this number.');
    const [sure, unsure] = [true, false].map((isSure) => createNationalPattern(number, forms, { isSure }));
    return { sure: sure!, unsure: unsure! };
  }

  it.each([
    ['+12025550143', '(202) 555-0143'],
    ['+12025550143', '202 555 0143'],
    ['+12025550143', '2025550143'],
    ['+12025550143', '+1 202 555 0143'],
    ['+12025550143', 'tel=202%20555%200143'],
    ['+12025550143', '2\uff102 555 0143'],
    ['+442079460958', '020 7946 0958'],
    ['+442079460958', '(0)20 7946 0958'],
    ['+442079460958', '02079460958'],
    ['+442079460958', '20 7946 0958'],
    ['+4930123456', '030 123456'],
    ['+4930123456', '030/123456'],
    ['+390612345678', '06 1234 5678'],
    ['+79161234567', '8 (916) 123-45-67'],
    ['+36201234567', '06 20 123 4567'],
  ])('finds and replaces %s written as %s', async (number, text) => {
    const { sure, unsure } = await patternsOf(number);
    for (const each of [sure, unsure]) {
      expect(each.isIn(`Call ${text}, please.`)).toBe(true);
      expect(each.replaceIn(`Call ${text}, please.`, 'X')).not.toMatch(/\p{Nd}/u);
      expect(each.isWhole(text)).toBe(!text.startsWith('tel='));
    }
  });

  it.each(['+20 25550143', '+492025550143', '+49 202 555 0143', '+49 (202) 555-0143', '12025550144', '92025550143'])(
    'leaves %s',
    async (text) => {
      const { unsure } = await patternsOf('+12025550143');
      expect(unsure.isIn(`Call ${text}.`)).toBe(false);
    },
  );

  it.each([
    ['+12025112718', 'at 2025-11-27 18:05'],
    ['+12025550143', '202-555-0143-12'],
    ['+12025550143', '0049 202 555 0143'],
    ['+4720251127', 'on 2025-11-27'],
    ['+4930123456', '30 12 34 56'],
  ])('is not sure of %s in %s', async (number, text) => {
    const { sure, unsure } = await patternsOf(number);
    expect([sure.isIn(text), unsure.isIn(text)]).toEqual([false, true]);
    expect(sure.replaceIn(text, 'X')).toBe(text);
  });

  it('knows it as a value of JSON, but not a short one', async () => {
    const { sure } = await patternsOf('+12025550143');
    expect([2_025_550_143, 12_025_550_143, 2_025_550_144].map((value) => sure.isValue(String(value)))).toEqual([
      true,
      true,
      false,
    ]);
    expect((await patternsOf('+4720251127')).sure.isValue('20251127')).toBe(false);
  });

  it('is found if it was said in several turns, and after other figures', async () => {
    const { sure } = await patternsOf('+12025550143');
    const turns = ['I am 42.', '202 555', '0143, thanks.'].map((text) => ({ speaker: 'caller', text }));
    expect(hasNumber({ turns }, sure)).toBe(true);
    expect(replaceInTurns(turns, sure, 'X')).toEqual(['I am 42.', 'X', 'X, thanks.']);
  });

  it.each(['2025550143 ', '2025550143', '202 ', '0', '+', '00 ', '2025550143-', '00202555014'])(
    'takes linear time on long texts of %s',
    async (part) => {
      const { sure, unsure } = await patternsOf('+12025550143');
      const before = process.cpuUsage();
      for (const each of [sure, unsure]) each.replaceIn(part.repeat(50_000), 'X');
      // Of the processor, because other processes may use the cores.
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1_000).toBeLessThan(4_000);
    },
  );
});
