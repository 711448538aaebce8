import { toolSchemaFault } from '../../src/agents/tool-schema.js';

const fault = (schema: unknown) => toolSchemaFault(JSON.stringify(schema));

describe('toolSchemaFault', () => {
  it.each([
    [{ type: 'object' }],
    [{ type: 'object', properties: { order: { type: 'string', minLength: 1, description: 'Its number' } } }],
    [{ type: 'object', properties: { n: { type: ['integer', 'null'], minimum: 1 } }, required: ['n'] }],
    [
      {
        type: 'object',
        properties: { list: { type: 'array', items: { enum: ['a', 'b'] } } },
        additionalProperties: false,
      },
    ],
    [
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: { a: { anyOf: [{}, true] } },
      },
    ],
  ])('accepts %j', (schema) => {
    expect(fault(schema)).toBeUndefined();
  });

  it.each([
    ['no object', []],
    ['another type', { type: 'string' }],
    ['a reference, which may never end', { type: 'object', properties: { a: { $ref: '#' } } }],
    [
      'a pattern, which may take too long',
      { type: 'object', properties: { a: { type: 'string', pattern: '(a+)+$' } } },
    ],
    ['patterns for names', { type: 'object', patternProperties: { '(a+)+$': {} } }],
    ['a format', { type: 'object', properties: { a: { type: 'string', format: 'email' } } }],
    ['an unknown type', { type: 'object', properties: { a: { type: 'text' } } }],
    ['required that is not a list of names', { type: 'object', required: 'a' }],
    ['properties that are not an object', { type: 'object', properties: [] }],
    ['a property schema that is not an object', { type: 'object', properties: { a: 'string' } }],
    ['an enum that is not a list', { type: 'object', properties: { a: { enum: 'x' } } }],
    ['anyOf that is not a list', { type: 'object', anyOf: {} }],
  ])('rejects %s', (_name, schema) => {
    expect(fault(schema)).toMatch(/\S/);
  });

  it('rejects text that is no JSON, and schemas nested too deeply', () => {
    expect(toolSchemaFault('{')).toMatch(/JSON Schema/);
    let schema: object = { type: 'string' };
    for (let depth = 0; depth < 9; depth++) schema = { type: 'array', items: schema };
    expect(fault({ type: 'object', properties: { a: schema } })).toMatch(/nest/);
  });

  it.each(['default', 'const', 'examples'])('rejects a value that is nested deeper than 32 levels in %s', (keyword) => {
    // The value is three levels deep in the schema.
    const withValue = (levels: number) =>
      toolSchemaFault(
        `{"type":"object","properties":{"a":{"${keyword}":${'['.repeat(levels)}1${']'.repeat(levels)}}}}`,
      );
    expect(withValue(29)).toBeUndefined();
    expect(withValue(30)).toMatch(/nested deeper than 32 levels/);
    expect(withValue(5_000)).toMatch(/nested deeper than 32 levels/);
  });
});
