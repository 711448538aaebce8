import { createNumberPattern } from '../../src/calls/erasure/number-pattern.js';
import { hasNumber } from '../../src/calls/erasure/redaction.js';

const pattern = createNumberPattern('+12025550143');

describe('the pattern of an erased number', () => {
  it.each([
    '+12025550143',
    '12025550143',
    '0012025550143',
    '+1 (202) 555-0143',
    '1 202 555 01 43',
    'Call +1.202.555.0143, please.',
    'https://example.com/?to=%2B12025550143&x=1',
    '{"text":"agent: Hello.\\n12025550143"}',
  ])('finds and replaces %s', (text) => {
    expect(pattern.isIn(text)).toBe(true);
    const replaced = pattern.replaceIn(text, 'X');
    expect(replaced).toContain('X');
    expect(replaced).not.toMatch(/\d{3}/);
  });

  it.each(['+120255501430', '912025550143', '+12025550144', '1202555014', 'call_12', ''])('leaves %s', (text) => {
    expect(pattern.isIn(text)).toBe(false);
    expect(pattern.replaceIn(text, 'X')).toBe(text);
  });

  it('takes linear time on long texts of digits and separators', () => {
    const text = '1 - '.repeat(100_000);
    const begin = performance.now();
    pattern.replaceIn(text, 'X');
    expect(performance.now() - begin).toBeLessThan(2_000);
  });

  it('is found in any field of a document, also in its name', () => {
    expect(hasNumber({ _id: 'x', turns: [{ text: 'It is 12025550143.' }] }, pattern)).toBe(true);
    expect(hasNumber({ counts: { '+12025550143': 1 } }, pattern)).toBe(true);
    expect(hasNumber({ at: new Date(), cost: 12_025_550_143, turns: [{ text: 'No number.' }] }, pattern)).toBe(false);
  });
});
