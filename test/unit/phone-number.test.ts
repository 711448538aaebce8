import { isE164, isEmergencyNumber, maskPhoneNumber } from '../../src/domain/phone-number';

describe('phone numbers', () => {
  it.each(['+12', '+14155550123', '+123456789012345'])('takes %s', (number) => expect(isE164(number)).toBe(true));

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
  ])('refuses %p', (number) => expect(isE164(number)).toBe(false));

  it('knows emergency numbers behind their country codes, and leaves others alone', () => {
    for (const number of ['+1911', '+44999', '+49112', '+33112', '+353112', '+61000']) {
      expect([number, isEmergencyNumber(number)]).toEqual([number, true]);
    }
    for (const number of ['+19115550123', '+12025550112', '+4930112112']) expect(isEmergencyNumber(number)).toBe(false);
  });

  it('show no more than the prefix and the last four digits in a log', () => {
    expect(maskPhoneNumber('+14155551234')).toBe('+1415***1234');
    expect(maskPhoneNumber('+1911')).toBe('***');
  });
});
