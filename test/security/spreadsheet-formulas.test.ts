import { csvRecord } from '../../src/billing/statements/csv.js';

const STARTS = ['=1+1', '+1', '-1', '@SUM(A1)', '＝1', '＋1', '－1', '＠x', '﹦1', '﹢1', '﹣1', '﹫x'];

/** Characters that a spreadsheet may drop or hide before it reads a cell. */
const BEFORE = {
  nothing: '',
  'a zero-width space': '\u200b',
  'a zero-width joiner': '\u200d',
  'a word joiner': '\u2060',
  'a byte order mark': '\ufeff',
  'a soft hyphen': '\u00ad',
  'a left-to-right mark': '\u200e',
  'a right-to-left mark': '\u200f',
  'an Arabic letter mark': '\u061c',
  'a right-to-left override': '\u202e',
  'a right-to-left isolate': '\u2067',
  'a Hangul filler': '\u3164',
  'a variation selector': '\ufe0f',
  'a tag character': '\u{e0020}',
  'a blank': ' ',
  'a no-break space': '\u00a0',
  'an ideographic space': '\u3000',
  'a tab': '\t',
  'a line feed': '\n',
  'a NUL': '\0',
  'an escape': '\u001b',
  'a delete': '\u007f',
  'a next line': '\u0085',
  'several of them': '\u200f \ufeff\t\u202e',
};

describe('CSV cells that a spreadsheet would run as formulas', () => {
  it.each(Object.entries(BEFORE))('are escaped after %s', (_name, before) => {
    for (const start of STARTS) {
      const record = csvRecord([before + start]);
      expect(record.replace(/^"/, '').slice(0, 1)).toBe("'");
      expect(record).toContain(before + start);
    }
  });

  it.each(['a=1', 'é', 'שלום', '\u200fשלום', '漢字', '50 %', 'x-1', '\u00ad hidden'])(
    'do not include the text %j, which is not changed',
    (text) => {
      expect(csvRecord([text]).trimEnd().replaceAll('"', '')).toBe(text);
    },
  );

  it('are escaped after any number of such characters', () => {
    const startedAt = performance.now();
    const run = '\u200b '.repeat(100_000);
    expect(csvRecord([`${run}=1`]).slice(0, 1)).toBe("'");
    expect(csvRecord([`${run}1`]).slice(0, 1)).toBe('\u200b');
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});
