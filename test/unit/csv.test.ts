import { csvOf, csvRecord } from '../../src/billing/statements/csv.js';

describe('a CSV record', () => {
  it.each([
    [['a', 1, undefined, -2.5], 'a,1,,-2.5'],
    [['a,b'], '"a,b"'],
    [['say "hi"'], '"say ""hi"""'],
    [['two\r\nlines'], '"two\r\nlines"'],
    [[' blank'], '" blank"'],
    [[''], ''],
    [['é ✓ 漢'], 'é ✓ 漢'],
    [[0.000001, 99_999_999.999999], '0.000001,99999999.999999'],
  ])('with %j is %j', (cells, expected) => {
    expect(csvRecord(cells)).toBe(`${expected}\r\n`);
  });

  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '  =1', '＝1', '＋1', '－1', '＠x', '-a1'])(
    'never begins a text cell as a formula: %j',
    (text) => {
      expect(csvRecord([text]).replace(/^"/, '')).toMatch(/^'/);
    },
  );
});

describe('a CSV document', () => {
  async function* endless(): AsyncGenerator<{ name: string; count: number }> {
    for (let count = 1; ; count++) yield { count, name: 'x'.repeat(100) };
  }

  it('has a header and the columns in the requested order', async () => {
    let text = '';
    for await (const piece of csvOf(['name', 'count'], [{ count: 1, name: 'a' }])) text += piece;
    expect(text).toBe('name,count\r\na,1\r\n');
  });

  it('without rows consists of its header', async () => {
    let text = '';
    for await (const piece of csvOf<{ name: string }>(['name'], [])) text += piece;
    expect(text).toBe('name\r\n');
  });

  it('comes in pieces of bounded size and closes its rows when the reader stops', async () => {
    const rows = endless();
    let pieces = 0;
    for await (const piece of csvOf(['count', 'name'], rows)) {
      expect(piece.length).toBeLessThan(20_000);
      if (++pieces === 3) break;
    }
    expect(await rows.next()).toEqual({ done: true, value: undefined });
  });
});
