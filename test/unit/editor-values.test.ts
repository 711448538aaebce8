import {
  enteredValue,
  headerNames,
  withHeader,
  withoutChange,
} from '../../src/portal/app/components/agents/header-changes.js';
import { outputFieldsOf, templateOf } from '../../src/portal/app/components/agents/output-template.js';

describe('the template of the data to extract', () => {
  it('converts to fields and back', () => {
    const template = '{"confirmed":false,"note":null,"seats":0,"size":"small|large"}';
    const fields = outputFieldsOf(template);
    expect(fields.map(({ name, kind }) => [name, kind])).toEqual([
      ['confirmed', 'yes-no'],
      ['note', 'text'],
      ['seats', 'number'],
      ['size', 'choices'],
    ]);
    expect(templateOf(fields)).toBe(template);
  });

  it.each([
    ['small, medium,large', 'small|medium|large'],
    ['small|medium | large', 'small|medium|large'],
    ['Yes, please|No, thanks', 'Yes, please|No, thanks'],
    // The service rejects fewer than two.
    ['small', 'small|'],
    [' , ', '|'],
  ])('takes the choices %j as %j', (choices, expected) => {
    expect(templateOf([{ name: 'size', kind: 'choices', choices }])).toBe(JSON.stringify({ size: expected }));
  });

  it('shows choices separated by commas, unless they contain some', () => {
    expect(outputFieldsOf('{"a":"x|y","b":"x, y|z"}').map(({ choices }) => choices)).toEqual(['x, y', 'x, y|z']);
  });

  it('is empty without a named field, and has no field if it is no JSON', () => {
    expect(templateOf([{ name: ' ', kind: 'text', choices: '' }])).toBe('');
    expect(outputFieldsOf('')).toEqual([]);
    expect(outputFieldsOf('{')).toEqual([]);
  });
});

describe('the secret headers of an edited tool', () => {
  const stored = { names: ['Authorization'], kept: true, changes: {} };

  it('stay as they are stored while the tool keeps them, and are entered again otherwise', () => {
    expect(enteredValue(stored, 'Authorization')).toBeUndefined();
    expect(enteredValue({ ...stored, kept: false }, 'Authorization')).toBe('');
    expect(enteredValue({ ...stored, changes: { Authorization: null } }, 'Authorization')).toBeNull();
  });

  it('are added once, whatever the case of the name', () => {
    const changes = withHeader({ ...stored, changes: { 'X-Shop': '7' } }, 'x-shop');
    expect(changes).toEqual({ 'X-Shop': '7' });
    expect(withHeader({ ...stored, changes: { Authorization: null } }, 'authorization')).toEqual({ Authorization: '' });
    expect(headerNames({ ...stored, changes: { ...changes, Authorization: '' } })).toEqual(['Authorization', 'X-Shop']);
  });

  it('lose a change that is reverted', () => {
    expect(withoutChange({ 'X-Shop': '7', Authorization: null }, 'Authorization')).toEqual({ 'X-Shop': '7' });
  });
});
