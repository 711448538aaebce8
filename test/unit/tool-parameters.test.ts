import { toolSchemaFault } from '../../src/agents/tool-schema.js';
import { parametersOf, schemaOf, type ToolParameter } from '../../src/portal/app/tool-schema.js';

const DAY: ToolParameter = { name: 'day', type: 'string', description: 'Like 2026-12-24.', required: true };
const SEATS: ToolParameter = { name: 'seats', type: 'integer', description: '', required: false };
const NONE = '{"type":"object","properties":{}}';

describe('the arguments of a tool', () => {
  it('go from a list to a schema that the service takes, and back', () => {
    const schema = schemaOf([DAY, SEATS], NONE);
    expect(JSON.parse(schema)).toEqual({
      type: 'object',
      properties: { day: { type: 'string', description: 'Like 2026-12-24.' }, seats: { type: 'integer' } },
      required: ['day'],
    });
    expect(toolSchemaFault(schema)).toBeUndefined();
    expect(parametersOf(schema)).toEqual([DAY, SEATS]);
  });

  it('without a name are left out, and a schema that is closed stays so', () => {
    const closed = '{"type":"object","properties":{},"additionalProperties":false}';
    expect(JSON.parse(schemaOf([{ ...DAY, name: ' ' }], closed))).toEqual(JSON.parse(closed));
    expect(parametersOf(NONE)).toEqual([]);
  });

  it.each([
    ['no JSON', '{'],
    ['of another type', '{"type":"array"}'],
    ['with a choice', '{"type":"object","properties":{"a":{"type":"string","enum":["x"]}}}'],
    ['with an object', '{"type":"object","properties":{"a":{"type":"object"}}}'],
    ['with several types', '{"type":"object","properties":{"a":{"type":["string","null"]}}}'],
    ['with a title', '{"type":"object","title":"T","properties":{}}'],
    ['that demands what it does not describe', '{"type":"object","properties":{},"required":["a"]}'],
    ['with more about further ones', '{"type":"object","properties":{},"additionalProperties":{"type":"string"}}'],
  ])('that are %s stay a schema, since a list would lose something', (_what, schema) => {
    expect(parametersOf(schema)).toBeUndefined();
  });
});
