import { isPaymentSignature } from '../../src/billing/payments/signature.js';

describe('the signature of a payment event', () => {
  // openssl computed this signature: the HMAC-SHA256 of `1614265330.{"id":"evt_1"}` with the key `whsec_test_secret`.
  const secret = 'whsec_test_secret';
  const body = Buffer.from('{"id":"evt_1"}');
  const time = 1_614_265_330;
  const hex = 'e135cdbed3dda004bf8a2fb350f2541d299393c770e0b9e6e319dc595e9072aa';
  const now = time * 1_000;
  const check = (header: string, at = now) => isPaymentSignature({ secret, header, body, now: at });

  it('is valid for the known vector, in any case and with spaces', () => {
    expect(check(`t=${time},v1=${hex}`)).toBe(true);
    expect(check(`t=${time}, v1=${hex.toUpperCase()}`)).toBe(true);
    expect(check(`v1=${hex},t=${time}`)).toBe(true);
  });

  it('is valid for 300 s before and after its timestamp', () => {
    expect(check(`t=${time},v1=${hex}`, now + 300_000)).toBe(true);
    expect(check(`t=${time},v1=${hex}`, now - 300_000)).toBe(true);
    expect(check(`t=${time},v1=${hex}`, now + 300_001)).toBe(false);
    expect(check(`t=${time},v1=${hex}`, now - 300_001)).toBe(false);
  });

  it('is invalid with any changed character', () => {
    for (let i = 0; i < hex.length; i++) {
      const changed = `${hex.slice(0, i)}${hex[i] === '0' ? '1' : '0'}${hex.slice(i + 1)}`;
      expect(check(`t=${time},v1=${changed}`)).toBe(false);
    }
  });

  it.each([
    '',
    't=',
    'v1=',
    `t=${time}`,
    `v1=${hex}`,
    `t=${time}.0,v1=${hex}`,
    `t=-1,v1=${hex}`,
    `t=${time},v1=${hex}00`,
  ])('is invalid as "%s"', (header) => expect(check(header)).toBe(false));
});
