import { parseConfig } from '../../src/platform/config/config.js';

const config = (values: Record<string, string>) => parseConfig({ ALLOW_INSECURE_DEVELOPMENT: 'true', ...values });

describe('the links of the portal', () => {
  it('are absent by default, and otherwise as they are configured', () => {
    expect(config({})).toMatchObject({ payments: { url: undefined, contactUrl: undefined } });
    const PAYMENT_URL = 'https://pay.example.com/link?locale=en';
    for (const OPERATOR_CONTACT_URL of ['https://example.com/help', 'mailto:help@example.com?subject=Balance']) {
      const links = { payments: { url: PAYMENT_URL, contactUrl: OPERATOR_CONTACT_URL } };
      expect(config({ PAYMENT_URL, OPERATOR_CONTACT_URL })).toMatchObject(links);
    }
  });

  it.each([
    ['PAYMENT_URL', 'http://pay.example.com', 'an https URL'],
    ['PAYMENT_URL', 'mailto:help@example.com', 'an https URL'],
    ['PAYMENT_URL', 'https://user:secret@pay.example.com', 'an https URL'],
    ['PAYMENT_URL', `https://pay.example.com/${'a'.repeat(2_048)}`, '2048'],
    ['OPERATOR_CONTACT_URL', 'javascript:alert(1)', 'an https URL or a mailto: address'],
    ['OPERATOR_CONTACT_URL', 'mailto:', 'an https URL or a mailto: address'],
    ['OPERATOR_CONTACT_URL', 'help@example.com', 'an https URL or a mailto: address'],
  ])('reject %s=%s', (variable, value, reason) => {
    expect(() => config({ [variable]: value })).toThrow(new RegExp(`${variable}.*${reason}`));
  });
});
