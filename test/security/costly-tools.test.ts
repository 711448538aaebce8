import { argumentFault } from '../../src/voice/tools/arguments.js';
import { toolSchemaFault } from '../../src/agents/tool-schema.js';
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

  it('with thousands of argument values', () => {
    const definition = { name: 'x', description: '', parameters: alternatives(100) };
    expect(argumentFault(definition, { a: many(2_000) })).toBe('the arguments contain too many values');
    const startedAt = performance.now();
    argumentFault(definition, { a: many(900) });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});
