import fc from 'fast-check';
import { conclusionSchema, emptyValues, validateValues } from '../../src/voice/results/extraction.js';

const TEMPLATE = { confirmed: false, party_size: 2, size: 'small | medium|large', note: '', anything: null };

describe('values extracted from a conversation', () => {
  it('keep the types of the template and get its keys back', () => {
    const extracted = { value_1: true, value_2: 4, value_3: 'Medium', value_4: ' at the window ', value_5: 7 };
    expect(validateValues(TEMPLATE, extracted)).toEqual({
      confirmed: true,
      party_size: 4,
      size: 'medium',
      note: 'at the window',
      anything: 7,
    });
  });

  it.each([
    ['a string in place of a boolean', { value_1: 'true' }],
    ['a string in place of a number', { value_2: '4' }],
    ['NaN', { value_2: Number.NaN }],
    ['a value that is not among the choices', { value_3: 'huge' }],
    ['a number in place of a string', { value_4: 12 }],
    ['an empty string', { value_4: '   ', value_5: '' }],
    ['a string that is too long', { value_4: 'x'.repeat(1_001) }],
    ['an object', { value_5: { confirmed: true } }],
    ['a value under the template key', { confirmed: true }],
    ['inherited fields', Object.create({ value_1: true }) as object],
    ['nothing', undefined],
    ['a list', [true, 4]],
    ['a string', 'confirmed'],
  ])('are null for %s', (_, extracted) => {
    expect(validateValues(TEMPLATE, extracted)).toEqual(emptyValues(TEMPLATE));
  });

  it('have exactly the keys and types of the template, or null, for any model output', () => {
    const values = fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.constant(null));
    fc.assert(
      fc.property(fc.dictionary(fc.string(), values), fc.anything(), (template, extracted) => {
        const result = validateValues(template, extracted);
        expect(Object.keys(result)).toEqual(Object.keys(template));
        for (const [key, value] of Object.entries(result)) {
          const byDefault = template[key] ?? null;
          if (value !== null && byDefault !== null) expect(typeof value).toBe(typeof byDefault);
        }
      }),
    );
  });

  it('are requested by a strict schema with the customer’s keys as descriptions', () => {
    const schema = conclusionSchema({ 'odd key "1"': null, 'a|b': 'a|b' });
    expect(schema).toMatchObject({
      required: ['summary', 'values'],
      additionalProperties: false,
      properties: {
        values: {
          required: ['value_1', 'value_2'],
          additionalProperties: false,
          properties: { value_1: { description: 'odd key "1"' }, value_2: { enum: ['a', 'b', null] } },
        },
      },
    });
  });

  it('are not requested without a template', () => {
    expect(conclusionSchema({})).toMatchObject({ required: ['summary'] });
    expect(validateValues({}, { value_1: true })).toEqual({});
  });
});
