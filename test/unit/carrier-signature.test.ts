import { isValidSignature, sign } from '../../src/telephony/twilio/signature.js';

const authToken = '12345';
const url = 'https://mycompany.com/myapp.php?foo=1&bar=2';
const params = {
  CallSid: 'CA1234567890ABCDE',
  Caller: '+14158675309',
  Digits: '1234',
  From: '+14158675309',
  To: '+18005551212',
};
const signature = 'RSOYDt4T1cUTdK1PDd93/VVr8B8=';

describe('the carrier signature', () => {
  it("matches the carrier's published example", () => {
    expect(sign({ authToken, url, params })).toBe(signature);
    expect(isValidSignature({ authToken, signature, url, params })).toBe(true);
  });

  it('ignores the fragment of the URL', () => {
    expect(sign({ authToken, url: `${url}#rc=3&rp=5xx`, params })).toBe(signature);
  });

  it('sorts and de-duplicates a repeated parameter', () => {
    const once = sign({ authToken, url, params: { Digits: ['5', '6'] } });
    expect(sign({ authToken, url, params: { Digits: ['6', '5', '6'] } })).toBe(once);
  });

  it('ignores the default port of https', () => {
    const withPort = sign({ authToken, url: 'https://mycompany.com:443/x', params });
    expect(isValidSignature({ authToken, signature: withPort, url: 'https://mycompany.com/x', params })).toBe(true);
  });

  it('of a media stream covers the wss URL alone', () => {
    const ofStream = sign({ authToken, url: 'wss://mycompany.com/stream/call_1', params: {} });
    const check = (against: string) => isValidSignature({ authToken, signature: ofStream, url: against, params: {} });
    expect(check('wss://mycompany.com/stream/call_1')).toBe(true);
    expect(check('https://mycompany.com/stream/call_1')).toBe(false);
    expect(check('wss://mycompany.com/stream/call_2')).toBe(false);
  });

  it.each([
    ['another token', { authToken: '54321', signature, url, params }],
    ['no signature', { authToken, signature: undefined, url, params }],
    ['an empty signature', { authToken, signature: '', url, params }],
    ['a signature of another length', { authToken, signature: 'abc', url, params }],
    ['http instead of https', { authToken, signature, url: url.replace('https', 'http'), params }],
    ['an extra parameter', { authToken, signature, url, params: { ...params, Extra: '1' } }],
    ['a missing parameter', { authToken, signature, url, params: { CallSid: params.CallSid } }],
    ['a relative URL', { authToken, signature, url: '/relative?x=1', params }],
  ])('is invalid with %s', (_, given) => {
    expect(isValidSignature(given)).toBe(false);
  });
});
