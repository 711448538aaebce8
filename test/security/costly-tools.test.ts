import { argumentFault } from '../../src/voice/tools/arguments.js';
import { toolSchemaFault } from '../../src/agents/tool-schema.js';
import { createRefillingBudget } from '../../src/voice/tools/refilling-budget.js';
import { storedTools } from '../../src/agents/tool-headers.js';

const many = (count: number) => Array.from({ length: count }, (_, index) => index);
const alternatives = (count: number) => ({
  type: 'object',
  properties: { a: { type: 'array', items: { oneOf: many(count).map(() => ({})) } } },
});

describe('a tool is rejected before it costs much time', () => {
  it('with thousands of secret headers: none is encrypted', () => {
    let sealed = 0;
    const box = { seal: () => `k.${++sealed}`, open: () => '' };
    const headers = Object.fromEntries(many(20_000).map((index) => [`x${index}`, 'v']));
    const tool = { name: 'x', description: 'd', method: 'GET' as const, url: 'https://example.com/', parameters: '{}' };
    const store = (given: Record<string, string>) =>
      storedTools({ tools: [{ ...tool, headers: given }], present: [], accountId: 'acct_1', box });
    expect(() => store(headers)).toThrow('headers must have at most 10 entries');
    expect(() => store(Object.fromEntries(Object.entries(headers).slice(0, 11)))).toThrow(
      'headers must have at most 10 entries',
    );
    expect(sealed).toBe(0);
    expect(store({ x0: 'v' })[0]?.headers).toHaveLength(1);
  });

  it('with thousands of nested schemas', () => {
    expect(toolSchemaFault(JSON.stringify(alternatives(2_700)))).toBe('must contain at most 200 schemas');
    expect(toolSchemaFault(JSON.stringify(alternatives(197)))).toBeUndefined();
  });

  it('with thousands of nested schemas, after a look at as many as are allowed', () => {
    const wide = JSON.stringify(alternatives(5_300));
    // Each look at a schema first checks that it is an object and no list.
    const looks = jest.spyOn(Array, 'isArray');
    try {
      expect(toolSchemaFault(wide)).toBe('must contain at most 200 schemas');
      expect(looks.mock.calls.length).toBeLessThan(1_000);
    } finally {
      looks.mockRestore();
    }
  });

  it('with thousands of entries in its lists', () => {
    const listing = (entries: object) => JSON.stringify({ type: 'object', properties: { a: entries } });
    expect(toolSchemaFault(listing({ enum: many(1_001) }))).toBe('must contain at most 1000 entries in its lists');
    expect(toolSchemaFault(listing({ required: many(1_001).map(String) }))).toBe(
      'must contain at most 1000 entries in its lists',
    );
    expect(toolSchemaFault(listing({ const: [many(600), many(600)] }))).toBe(
      'must contain at most 1000 entries in its lists',
    );
    expect(toolSchemaFault(listing({ enum: many(1_000) }))).toBeUndefined();
  });
});

describe('a tool call blocks the process for a few milliseconds at most', () => {
  const parameters = (items: object) => ({ type: 'object', properties: { a: { type: 'array', items } } });
  const anyOf = (count: number, each: object) => ({ anyOf: many(count).map(() => each) });
  const UNLIMITED = { size: Infinity, perSecond: 0, now: () => 0 };
  const TOO_MANY = 'the arguments contain too many values for their schema';

  /** Validates arguments. @returns the least processor time of three attempts, in ms, and the fault */
  function validate(schema: Record<string, unknown>, given: Record<string, unknown>) {
    const attempts = many(3).map(() => {
      const before = process.cpuUsage();
      const fault = argumentFault(
        { name: 'x', description: '', parameters: schema },
        given,
        createRefillingBudget(UNLIMITED),
      );
      const { user, system } = process.cpuUsage(before);
      return { fault, ms: (user + system) / 1_000 };
    });
    return { fault: attempts[0]?.fault, ms: Math.min(...attempts.map(({ ms }) => ms)) };
  }

  it('with thousands of argument values', () => {
    const { fault, ms } = validate(parameters(anyOf(100, {})), { a: many(2_000) });
    expect(fault).toBe('the arguments contain too many values');
    expect(ms).toBeLessThan(100);
  });

  it.each([
    ['alternatives', anyOf(190, { type: 'string' }), many(990)],
    ['alternatives that must not fit both', { oneOf: many(190).map(() => ({ type: 'string' })) }, many(990)],
    ['required names', { required: many(1_350).map(() => 'q') }, many(900).map(() => ({}))],
    ['alternatives with required names', anyOf(20, { required: many(40).map(() => 'q') }), many(900).map(() => ({}))],
    ['allowed values', anyOf(20, { enum: many(40) }), many(990)],
    ['lists of lists', { type: 'array', items: anyOf(180, { type: 'string' }) }, [many(980)]],
    [
      'other names',
      { additionalProperties: anyOf(190, { type: 'string' }) },
      [Object.fromEntries(many(490).entries())],
    ],
  ])('with many values and %s', (_what, items, a) => {
    const { fault, ms } = validate(parameters(items), { a });
    expect(fault).toMatch(/^the arguments (do not fit|contain too many values for their schema)/);
    expect(ms).toBeLessThan(100);
  });

  it('with as many values as are validated, which fit the last alternative only', () => {
    const numberAfter = (count: number) => ({
      anyOf: [...anyOf(count, { type: 'string' }).anyOf, { type: 'integer' }],
    });
    const { fault, ms } = validate(parameters(numberAfter(19)), { a: many(900) });
    expect(fault).toBeUndefined();
    expect(ms).toBeLessThan(100);
    expect(validate(parameters({ multipleOf: 1e-300 }), { a: many(990).map(() => 1e300) }).ms).toBeLessThan(100);
    expect(validate(parameters(numberAfter(22)), { a: many(900) }).fault).toBe(TOO_MANY);
  });

  it('and rejects no ordinary arguments', () => {
    const product = { type: 'object', properties: { code: { enum: many(500) }, count: { type: 'integer' } } };
    const lines = many(35).map((code) => ({ code, count: 1 }));
    expect(validate(parameters(product), { a: lines }).fault).toBeUndefined();
  });
});
