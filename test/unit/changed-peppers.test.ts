import { parseConfig } from '../../src/platform/config/config.js';
import { createCursors } from '../../src/platform/http/cursor.js';
import { isSignedForm, isSignedUpgrade } from '../../src/telephony/twilio/signed-forms.js';
import { sign } from '../../src/telephony/twilio/signature.js';
import { createLegTokens } from '../../src/telephony/web/tokens.js';
import { likeASecret } from '../support/production.js';

const [OLD, NEW, OTHER] = [likeASecret('old'), likeASecret('new'), likeASecret('other')];

/** The configurations of the three restarts in which the pepper changes, in their order. */
const before = parseConfig({ API_KEY_PEPPER: OLD });
const first = parseConfig({ API_KEY_PEPPER: OLD, API_KEY_FORMER_PEPPERS: NEW });
const second = parseConfig({ API_KEY_PEPPER: NEW, API_KEY_FORMER_PEPPERS: OLD });
const third = parseConfig({ API_KEY_PEPPER: NEW });

describe('while the pepper changes, each process accepts what the others made', () => {
  it.each([
    [before, first],
    [first, before],
    [first, second],
    [second, first],
    [second, third],
    [third, second],
  ])('cursors and tokens of browsers (%#)', (made, read) => {
    const cursor = createCursors(made.apiKeyPepper, made.formerPeppers).write('list', { at: new Date(5), id: 'a' });
    const cursors = createCursors(read.apiKeyPepper, read.formerPeppers);
    expect(cursors.read('list', cursor)).toEqual({ at: new Date(5), id: 'a' });
    expect(() => cursors.read('other list', cursor)).toThrow(/cursor/);
    const token = createLegTokens(made).issue('call_1');
    expect(createLegTokens(read).isGenuine('call_1', token)).toBe(true);
    expect(createLegTokens(read).isGenuine('call_2', token)).toBe(false);
  });

  it('and nothing else', () => {
    const stranger = parseConfig({ API_KEY_PEPPER: OTHER });
    const cursor = createCursors(OTHER).write('list', { at: new Date(5), id: 'a' });
    for (const config of [before, first, second, third]) {
      expect(createLegTokens(config).isGenuine('call_1', createLegTokens(stranger).issue('call_1'))).toBe(false);
      expect(() => createCursors(config.apiKeyPepper, config.formerPeppers).read('list', cursor)).toThrow(/cursor/);
    }
    expect(createLegTokens(third).isGenuine('call_1', createLegTokens(before).issue('call_1'))).toBe(false);
  });

  it('and derived ids change in one of the restarts only', () => {
    const peppers = [before, first, second, third].map(({ stablePepper }) => stablePepper);
    expect(peppers.filter((pepper, index) => index > 0 && pepper !== peppers[index - 1])).toHaveLength(1);
    expect(first.stablePepper).toBe(second.stablePepper);
  });
});

it.each([['too short'], [`${OLD},short`], [`${OLD}, ${NEW}`], [`${OLD},`]])(
  'rejects API_KEY_FORMER_PEPPERS=%s',
  (list) => {
    expect(() => parseConfig({ API_KEY_PEPPER: NEW, API_KEY_FORMER_PEPPERS: list })).toThrow(/API_KEY_FORMER_PEPPERS/);
  },
);

describe('while the token of the carrier changes, signatures with both are accepted', () => {
  const account = (tokens: object) =>
    parseConfig({
      ALLOW_INSECURE_DEVELOPMENT: 'true',
      ALLOW_DEMO_ENGINE_ON_LIVE_CALLS: 'true',
      CARRIER: 'twilio',
      TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
      CARRIER_FROM_NUMBER: '+12025550100',
      ...tokens,
    }).carriers.live;
  const both = account({ TWILIO_AUTH_TOKEN: NEW, TWILIO_OTHER_AUTH_TOKEN: OLD });
  const one = account({ TWILIO_AUTH_TOKEN: NEW });
  const url = 'https://calls.example.com/carrier/status';
  const form = { AccountSid: `AC${'0'.repeat(32)}`, CallStatus: 'ringing' };
  const body = Buffer.from(new URLSearchParams(form).toString());
  const formBy = (authToken: string) => ({
    url,
    body,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-twilio-signature': sign({ authToken, url, params: form }),
    },
  });
  const streamBy = (authToken: string) => ({
    url: 'wss://calls.example.com/stream/call_1',
    rest: '',
    headers: { 'x-twilio-signature': sign({ authToken, url: 'wss://calls.example.com/stream/call_1', params: {} }) },
  });

  it.each([
    [NEW, true, true],
    [OLD, true, false],
    [OTHER, false, false],
  ])('%#', (token, byBoth, byOne) => {
    expect([isSignedForm(both, formBy(token)), isSignedForm(one, formBy(token))]).toEqual([byBoth, byOne]);
    expect([isSignedUpgrade(both, streamBy(token)), isSignedUpgrade(one, streamBy(token))]).toEqual([byBoth, byOne]);
  });
});
