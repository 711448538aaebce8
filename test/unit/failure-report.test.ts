import { reportFailure } from '../../src/voice/models/failure-report.js';

describe('reportFailure', () => {
  it.each([
    [
      'OpenAI',
      { error: { message: 'Rate limit reached.', type: 'requests', param: null, code: 'rate_limit' } },
      'rate_limit',
    ],
    [
      'OpenAI without a code',
      { error: { message: 'Bad.', type: 'invalid_request_error', code: null } },
      'invalid_request_error',
    ],
    ['ElevenLabs', { detail: { status: 'voice_not_found', message: 'No such voice.' } }, 'voice_not_found'],
    ['ElevenLabs on a socket', { message: 'Quota exceeded.', error: 'quota_exceeded', code: 1008 }, 'quota_exceeded'],
    ['Deepgram', { err_code: 'INVALID_AUTH', err_msg: 'Invalid credentials.', request_id: 'r-1' }, 'INVALID_AUTH'],
    ['Deepgram on a socket', { type: 'Error', code: 'NET-0000', description: 'Internal.' }, 'NET-0000'],
  ])('finds code and message of %s', (_, body, code) => {
    const report = reportFailure({ provider: 'any', status: 400, body: JSON.stringify(body) });
    expect(report).toMatchObject({ provider: 'any', status: 400, code, message: expect.stringMatching(/^[A-Z]\w+/) });
  });

  it.each([
    ['x-request-id', 'req_1a2b'],
    ['dg-request-id', 'b2c5a6f0-6a52-4b4e-9e0e-1d2f3a4b5c6d'],
    ['request-id', 'kW3'],
  ])('finds the id of the request in %s', (name, id) => {
    expect(reportFailure({ provider: 'any', headers: { [name]: id } }).requestId).toBe(id);
    expect(reportFailure({ provider: 'any', headers: new Headers({ [name]: id }) }).requestId).toBe(id);
  });

  it('reads the error of a rejected upgrade from its header', () => {
    const headers = { 'dg-error': 'Insufficient permissions.', 'dg-request-id': 'r-2' };
    const report = reportFailure({ provider: 'deepgram', status: 403, headers, body: '' });
    expect(report).toEqual({
      provider: 'deepgram',
      status: 403,
      requestId: 'r-2',
      message: 'Insufficient permissions.',
    });
  });

  it.each([
    ['a key', 'Incorrect API key provided: sk-proj-abcdefghijkl.', /abcdef/],
    ['a masked key', 'Incorrect API key provided: te*****ey.', /te\*|\*ey/],
    ['the configured key', 'Key hunter-2 is unknown.', /hunter/],
    ['a phone number', 'Cannot call +1 (202) 555-0100 today.', /555/],
    ['an address', 'Ask anna@example.com.', /anna/],
    ['a quoted sentence', "Invalid text: 'My name is Anna'.", /Anna/],
    ['words that were sent', 'Cannot speak: Hello Anna, your appointment is today', /Anna|appointment/],
    ['a secret in an address', 'See https://example.com/x?key=abc for help.', /abc/],
    ['an account', 'Quota of organization org-a1B2 is used up.', /a1B2/],
  ])('removes %s', (_, message, secret) => {
    const sent = JSON.stringify({ input: 'Hello Anna,\nyour appointment is today.' });
    const body = { error: { message, code: 'x' } };
    const report = reportFailure({ provider: 'any', body, sent, secrets: ['hunter-2'] });
    expect(report.message).toMatch(/\S+ \S+/);
    expect(report.message).not.toMatch(secret);
  });

  it('keeps the names of models and parameters', () => {
    const message = `Unsupported value: 'low' is not supported with the 'gpt-6-luna' model in "tools[0].function".`;
    expect(reportFailure({ provider: 'openai', body: { error: { message } } }).message).toBe(message);
  });

  it('bounds the message, and ignores pages of proxies and everything that is no code or id', () => {
    expect(reportFailure({ provider: 'any', body: 'word '.repeat(10_000) }).message).toHaveLength(300);
    expect(reportFailure({ provider: 'any', body: '<html>bad gateway</html>' })).toEqual({ provider: 'any' });
    const body = { error: { code: 'not a code', message: 7 }, request_id: '491512345678' };
    expect(reportFailure({ provider: 'any', body })).toEqual({ provider: 'any' });
    for (const odd of [null, undefined, 7, [], 'null', '[1]', { error: null }, { detail: [] }])
      expect(reportFailure({ provider: 'any', body: odd })).toEqual({ provider: 'any' });
  });
});
