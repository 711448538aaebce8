import { argumentFault } from '../../src/voice/tools/arguments.js';
import { createRefillingBudget } from '../../src/voice/tools/refilling-budget.js';

const fault = (schema: object, given: Record<string, unknown>) =>
  argumentFault(
    { name: 'look_up', description: '', parameters: { type: 'object', ...schema } },
    given,
    createRefillingBudget({ size: 20_000, perSecond: 0, now: () => 0 }),
  );
const ORDER = { properties: { order: { type: 'string' } } };

describe('arguments that a tool does not declare', () => {
  it.each<[string, object, string]>([
    ['beside declared arguments', ORDER, '{"order":"a","admin":true}'],
    ['if none are declared', {}, '{"admin":true}'],
    ['with names that are special in JavaScript', ORDER, '{"__proto__":{"a":1}}'],
    ['with names that every object has', ORDER, '{"constructor":1}'],
    ['in an object argument', { properties: { at: { type: 'object', ...ORDER } } }, '{"at":{"order":"a","admin":1}}'],
    ['in an object without a type', { properties: { at: {} } }, '{"at":{"admin":1}}'],
    ['in a list', { properties: { all: { type: 'array', items: ORDER } } }, '{"all":[{"admin":1}]}'],
    ['in an additional value', { additionalProperties: ORDER }, '{"x":{"admin":1}}'],
    ['beside alternatives', { anyOf: [ORDER, { properties: { id: {} } }] }, '{"id":1,"admin":1}'],
    ['in an alternative', { properties: { at: { oneOf: [ORDER, { type: 'null' }] } } }, '{"at":{"admin":1}}'],
    ['if additional arguments are forbidden', { ...ORDER, additionalProperties: false }, '{"admin":1}'],
  ])('are rejected %s', (_name, schema, given) => {
    expect(fault(schema, JSON.parse(given) as Record<string, unknown>)).toMatch(/^the arguments do not fit/);
  });

  it.each<[string, object, Record<string, unknown>]>([
    ['any additional arguments', { ...ORDER, additionalProperties: true }, { order: 'a', more: { x: 1 } }],
    ['additional arguments of a type', { additionalProperties: { type: 'integer' } }, { more: 1 }],
    ['alternatives', { anyOf: [{ required: ['order'] }, { properties: { id: {} } }], ...ORDER }, { order: 'a', id: 1 }],
    ['whole values', { properties: { at: { enum: [{ x: 1 }] } } }, { at: { x: 1 } }],
    ['any value', { properties: { at: { additionalProperties: true } } }, { at: { x: { y: 1 } } }],
    ['none', ORDER, {}],
  ])('are sent if the schema allows %s', (_name, schema, given) => {
    expect(fault(schema, given)).toBeUndefined();
  });
});
