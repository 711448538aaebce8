import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { parseConfig } from '../../src/platform/config/config.js';
import {
  DEFAULT_RATE_DECK,
  isTransferAffordable,
  parseRateDeck,
  rateTo,
  type RateDeck,
} from '../../src/kernel/destinations/rate-deck.js';

function deckOf(csv: string): RateDeck {
  const parsed = parseRateDeck(csv);
  if ('faults' in parsed) throw new Error(parsed.faults.join('; '));
  return parsed.deck;
}

function faultsOf(csv: string): string[] {
  const parsed = parseRateDeck(csv);
  return 'faults' in parsed ? parsed.faults : [];
}

describe('a rate deck', () => {
  const deck = deckOf('prefix,micro_usd_per_second\n1,2500\n+44,3000\n447,9000\n4477001,1\ndefault,50000\n');

  it.each([
    ['+12025550100', 2_500],
    ['+442071838750', 3_000],
    ['+447000000000', 9_000],
    ['+447700199999', 1],
    ['+447700299999', 9_000],
    ['+4', 50_000],
    ['+44', 3_000],
    ['+881234567', 50_000],
  ])('gives %s the rate of its longest prefix: %d', (number, rate) => {
    expect(rateTo(deck, number)).toBe(rate);
  });

  it('charges the default rate for other prefixes, and without a deck for all numbers', () => {
    expect(deckOf('44,1\n')).toMatchObject({ otherwise: 2_500, inbound: 2_500 });
    expect(deckOf('inbound,7')).toMatchObject({ inbound: 7, otherwise: 2_500, longest: 0 });
    expect([rateTo(DEFAULT_RATE_DECK, '+447700900123'), DEFAULT_RATE_DECK.inbound]).toEqual([2_500, 2_500]);
  });

  it('finds the same rate as a search through all prefixes', () => {
    const digits = fc.stringMatching(/^[1-3][1-3]{0,5}$/);
    fc.assert(
      fc.property(fc.uniqueArray(digits, { minLength: 1, maxLength: 30 }), digits, (prefixes, number) => {
        const byLine = deckOf(prefixes.map((prefix, index) => `${prefix},${index + 1}`).join('\n'));
        const matching = prefixes.filter((prefix) => number.startsWith(prefix));
        const [longest] = matching.toSorted((a, b) => b.length - a.length);
        expect(rateTo(byLine, `+${number}`)).toBe(longest === undefined ? 2_500 : prefixes.indexOf(longest) + 1);
      }),
    );
  });

  it('allows a transfer only to a number that costs no more than the call', () => {
    expect(isTransferAffordable(deck, '+442071838750', 3_000)).toBe(true);
    expect(isTransferAffordable(deck, '+442071838750', 2_999)).toBe(false);
    expect(isTransferAffordable(deck, '+881234567', 2_500)).toBe(false);
  });

  it('can contain comments, empty lines, spaces, CRLF and a byte order mark', () => {
    const text = '\uFEFF# of November\r\nprefix,micro_usd_per_second\r\n\r\n +44 , 3000 \r\n';
    expect(deckOf(text).prefixes).toEqual(new Map([['44', 3_000]]));
  });

  const PREFIX = 'the prefix must be 1 to 15 digits such as 44 or +44, default or inbound';
  const RATE = 'the rate must be a whole number of micro-USD per second from 1 to 1000000';
  it.each([
    ['prefix,usd_per_minute\n1,0.15', [`line 1: ${PREFIX}`, `line 2: ${RATE}`]],
    ['1,2500\n\n044,2500', [`line 3: ${PREFIX}`]],
    ['1234567890123456,1', [`line 1: ${PREFIX}`]],
    ['Default,1', [`line 1: ${PREFIX}`]],
    ['1,0\n2,-1\n3,1000001\n4,1e3\n5,\n6', [1, 2, 3, 4, 5, 6].map((line) => `line ${line}: ${RATE}`)],
    ['1,2500\n44,1\n+44,1', ['line 3: the prefix is already on line 2']],
    ['default,1\ndefault,2', ['line 2: the prefix is already on line 1']],
    ['1,2500,3', ['line 1: it must have two fields, prefix,micro_usd_per_second']],
    ['1;2500', [`line 1: ${PREFIX}`]],
    ['', ['it has no rates']],
    ['prefix,micro_usd_per_second\n', ['it has no rates']],
    ['x\n'.repeat(500_001), ['it has more than 500000 lines']],
  ])('is rejected as a whole, with the line of each fault: %j', (csv, faults) => {
    expect(faultsOf(csv)).toEqual(faults);
  });

  it('reports at most ten faults and parses a hundred thousand lines quickly', () => {
    expect(faultsOf('x,1\n'.repeat(1_000))).toHaveLength(10);
    const many = Array.from({ length: 100_000 }, (_, index) => `${100_000 + index},${index + 1}`).join('\n');
    const startedAt = performance.now();
    expect(rateTo(deckOf(many), '+1999990000')).toBe(100_000);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});

describe('RATE_DECK_FILE', () => {
  const folder = mkdtempSync(join(tmpdir(), 'callwright-rates-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const configured = (file: string) => parseConfig({ NODE_ENV: 'test', RATE_DECK_FILE: file }).calls.rates;

  it('is optional and is read at start-up', () => {
    expect(parseConfig({ NODE_ENV: 'test' }).calls.rates).toBe(DEFAULT_RATE_DECK);
    const file = join(folder, 'rates.csv');
    writeFileSync(file, '44,3000\n');
    expect(rateTo(configured(file), '+44')).toBe(3_000);
  });

  it('prevents the start of the service if the file is unusable', () => {
    const file = join(folder, 'bad.csv');
    writeFileSync(file, '44,3000\n45,0.15\n');
    expect(() => configured(file)).toThrow(
      /RATE_DECK_FILE: .*bad\.csv is not a valid rate deck: line 2: the rate must/,
    );
    expect(() => configured(join(folder, 'none.csv'))).toThrow(/RATE_DECK_FILE: .*none\.csv cannot be read: ENOENT\./);
    expect(() => configured(folder)).toThrow(/cannot be read: it is not a file\./);
  });

  it('accepts the example file of the project', () => {
    const example = deckOf(readFileSync(join(__dirname, '../../deploy/rates/example.csv'), 'utf8'));
    expect(example.prefixes.size).toBeGreaterThan(3);
  });
});
