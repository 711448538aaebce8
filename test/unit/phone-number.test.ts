import { isE164, maskPhoneNumber } from '../../src/kernel/phone-number';

describe('a phone number', () => {
  it.each(['+12', '+14155550123', '+123456789012345'])('can be %s', (number) => expect(isE164(number)).toBe(true));

  it.each([
    '',
    '+',
    '+1',
    '14155550123',
    '+04155550123',
    '+1234567890123456',
    '+1 415',
    '+1415５５５',
    '+1415\n',
    null,
    12,
  ])('cannot be %p', (number) => expect(isE164(number)).toBe(false));

  it('has only its prefix and last four digits in a log', () => {
    expect(maskPhoneNumber('+14155551234')).toBe('+1415***1234');
    expect(maskPhoneNumber('+1911')).toBe('***');
  });
});
