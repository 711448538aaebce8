import { toolSchemaFault } from '../../src/agents/tool-schema.js';
import {
  parametersFromSchema,
  schemaOf,
  type ToolParameter,
} from '../../src/portal/app/components/agents/tool-schema.js';

const DAY: ToolParameter = { name: 'day', type: 'string', description: 'Like 2026-12-24.', required: true };
const SEATS: ToolParameter = { name: 'seats', type: 'integer', description: '', required: false };
const NONE = '{"type":"object","properties":{}}';

describe('the parameter list of a tool', () => {
  it('converts to a valid schema and back', () => {
    const schema = schemaOf([DAY, SEATS], NONE);
    expect(JSON.parse(schema)).toEqual({
      type: 'object',
      properties: { day: { type: 'string', description: 'Like 2026-12-24.' }, seats: { type: 'integer' } },
      required: ['day'],
    });
    expect(toolSchemaFault(schema)).toBeUndefined();
    expect(parametersFromSchema(schema)).toEqual([DAY, SEATS]);
  });

  it('omits parameters without a name and keeps a schema closed', () => {
    const closed = '{"type":"object","properties":{},"additionalProperties":false}';
    expect(JSON.parse(schemaOf([{ ...DAY, name: ' ' }], closed))).toEqual(JSON.parse(closed));
    expect(parametersFromSchema(NONE)).toEqual([]);
  });

  it.each([
    ['is no JSON', '{'],
    ['has another type', '{"type":"array"}'],
    ['has a choice', '{"type":"object","properties":{"a":{"type":"string","enum":["x"]}}}'],
    ['has an object', '{"type":"object","properties":{"a":{"type":"object"}}}'],
    ['has several types', '{"type":"object","properties":{"a":{"type":["string","null"]}}}'],
    ['has a title', '{"type":"object","title":"T","properties":{}}'],
    ['requires an undescribed parameter', '{"type":"object","properties":{},"required":["a"]}'],
    ['describes additional properties', '{"type":"object","properties":{},"additionalProperties":{"type":"string"}}'],
  ])('is not available for a schema that %s', (_what, schema) => {
    expect(parametersFromSchema(schema)).toBeUndefined();
  });
});
