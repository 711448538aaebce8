import { joinToolCalls } from '../../src/voice/engines/pipeline/llm/tool-call-parts.js';

type Part = Parameters<ReturnType<typeof joinToolCalls>['add']>[0];

function joined(...parts: Part[]) {
  const calls = joinToolCalls();
  for (const part of parts) calls.add(part);
  return calls.all().map((call) => ({ ...call }));
}

const ONE = { id: 'a', function: { name: 'one', arguments: '{"x":1}' } };
const TWO = { id: 'b', function: { name: 'two', arguments: '{"y":2}' } };
const BOTH = [
  { id: 'a', name: 'one', arguments: '{"x":1}' },
  { id: 'b', name: 'two', arguments: '{"y":2}' },
];

describe('the parts of tool calls', () => {
  it('belong together by their number, also if parts of several calls alternate', () => {
    const parts = [
      { index: 0, id: 'a', function: { name: 'one', arguments: '' } },
      { index: 1, id: 'b', function: { name: 'two', arguments: '{"y"' } },
      { index: 0, function: { arguments: '{"x":1}' } },
      { index: 1, id: '', function: { name: null, arguments: ':2}' } },
    ];
    expect(joined(...parts)).toEqual(BOTH);
  });

  it('without a number, as Google sends them, begin with a new id', () => {
    expect(joined(ONE, TWO)).toEqual(BOTH);
    const split = { id: 'a', function: { name: 'one', arguments: '{"x"' } };
    expect(joined(split, { function: { arguments: ':1}' } }, TWO)).toEqual(BOTH);
  });

  it('that all have the number 0 begin with a new id, too', () => {
    expect(joined({ index: 0, ...ONE }, { index: 0, ...TWO })).toEqual(BOTH);
  });

  it('that repeat id and name continue the same call', () => {
    const part = (text: string) => ({ index: 0, id: 'a', function: { name: 'one', arguments: text } });
    expect(joined(part('{"x"'), part(':1}'))).toEqual(BOTH.slice(0, 1));
  });

  it('without ids are separate calls if the first one is complete', () => {
    const { function: one } = ONE;
    const { function: two } = TWO;
    expect(joined({ function: one }, { function: two }).map(({ name, arguments: text }) => [name, text])).toEqual([
      ['one', '{"x":1}'],
      ['two', '{"y":2}'],
    ]);
    expect(new Set(joined({ function: one }, { function: two }).map(({ id }) => id)).size).toBe(2);
  });

  it('without a name are no call', () => {
    expect(joined({ index: 3, id: 'a', function: { arguments: '{}' } })).toEqual([]);
  });

  it('may not be those of endless calls', () => {
    const many = Array.from({ length: 65 }, (_, at) => ({ id: `call-${at}`, function: { name: 'one' } }));
    expect(() => joined(...many)).toThrow('sent more than any reply needs');
  });
});
