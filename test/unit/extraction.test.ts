import fc from 'fast-check';
import { conclusionSchema, nothingSaid, validatedValues } from '../../src/voice/results/extraction.js';

const TEMPLATE = { confirmed: false, party_size: 2, size: 'small | medium|large', note: '', anything: null };

describe('values extracted from a conversation', () => {
  it('keep the kinds of the template, and get back the names of its keys', () => {
    const extracted = { value_1: true, value_2: 4, value_3: 'Medium', value_4: ' at the window ', value_5: 7 };
    expect(validatedValues(TEMPLATE, extracted)).toEqual({
      confirmed: true,
      party_size: 4,
      size: 'medium',
      note: 'at the window',
      anything: 7,
    });
  });

  it.each([
    ['a text for a boolean', { value_1: 'true' }],
    ['a text for a number', { value_2: '4' }],
    ['a number that is none', { value_2: Number.NaN }],
    ['what is not among the choices', { value_3: 'huge' }],
    ['a number for a text', { value_4: 12 }],
    ['an empty text', { value_4: '   ', value_5: '' }],
    ['a text that no caller says', { value_4: 'x'.repeat(1_001) }],
    ['an object', { value_5: { confirmed: true } }],
    ['a key by its own name', { confirmed: true }],
    ['inherited fields', Object.create({ value_1: true }) as object],
    ['nothing', undefined],
    ['a list', [true, 4]],
    ['a text alone', 'confirmed'],
  ])('are null for %s', (_, extracted) => {
    expect(validatedValues(TEMPLATE, extracted)).toEqual(nothingSaid(TEMPLATE));
  });

  it('have exactly the keys of the template, of its kinds or null, whatever a model writes', () => {
    const values = fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.constant(null));
    fc.assert(
      fc.property(fc.dictionary(fc.string(), values), fc.anything(), (template, extracted) => {
        const result = validatedValues(template, extracted);
        expect(Object.keys(result)).toEqual(Object.keys(template));
        for (const [key, value] of Object.entries(result)) {
          const byDefault = template[key] ?? null;
          if (value !== null && byDefault !== null) expect(typeof value).toBe(typeof byDefault);
        }
      }),
    );
  });

  it('are asked for by a strict schema: every field required, none beside them, the customer’s keys as descriptions', () => {
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

  it('are not asked for without a template', () => {
    expect(conclusionSchema({})).toMatchObject({ required: ['summary'] });
    expect(validatedValues({}, { value_1: true })).toEqual({});
  });
});
