import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../src/platform/config/config.js';
import { accountEntry, ACME, EUROPE, TWO_ACCOUNTS, writeAccountsFile } from '../support/carrier-accounts';
import { likeASecret, PRODUCTION } from '../support/production.js';
import { sidOf } from '../support/sids.js';

const carriersOf = (content: object | string, env: Record<string, string> = {}) =>
  parseConfig({ NODE_ENV: 'test', CARRIER_ACCOUNTS_FILE: writeAccountsFile(content), ...env }).carriers;
const withAccount = (...more: object[]) => ({ accounts: more.map((each) => ({ ...EUROPE, ...each })) });
const ofSome = { accounts: [{ ...ACME, customers: ['acct_1'] }] };
const withPools = (...pools: object[]) => ({ ...TWO_ACCOUNTS, pools });
const secretFile = (text: string) => {
  const file = join(mkdtempSync(join(tmpdir(), 'callwright-tokens-')), 'token');
  writeFileSync(file, text);
  return file;
};

const TWILIO = {
  ALLOW_INSECURE_DEVELOPMENT: 'true',
  ALLOW_DEMO_ENGINE_ON_LIVE_CALLS: 'true',
  CARRIER: 'twilio',
  TWILIO_ACCOUNT_SID: sidOf('AC', 'default'),
  TWILIO_AUTH_TOKEN: likeASecret('default').slice(0, 32),
  CARRIER_FROM_NUMBER: '+12025550199',
};

describe('CARRIER_ACCOUNTS_FILE', () => {
  it('is optional: then there is one account, in one pool', () => {
    const { further, pools, live, test } = parseConfig({ NODE_ENV: 'test' }).carriers;
    expect(further).toEqual([]);
    expect(pools).toEqual([{ name: 'default', accounts: ['default'], prefixes: [] }]);
    expect([live.name, test.name]).toEqual(['default', 'test']);
  });

  it('adds accounts at the carrier of live keys, with the defaults of that carrier', () => {
    const { further } = carriersOf(TWO_ACCOUNTS, TWILIO);
    expect(further[0]).toEqual({
      name: 'europe',
      kind: 'twilio',
      isSimulated: false,
      carrierAccountId: EUROPE.account_sid,
      authToken: EUROPE.auth_token,
      baseUrl: 'https://api.twilio.com',
      fromNumber: '+442071838750',
      callsPerSecond: 1,
    });
    expect(carriersOf(TWO_ACCOUNTS).further[0]).toMatchObject({ kind: 'simulator', isSimulated: true });
    expect(carriersOf(TWO_ACCOUNTS).further[0]).not.toHaveProperty('callsPerSecond');
  });

  it('reads secrets from files, without the line break at their end', () => {
    const { auth_token: _unused, ...entry } = accountEntry('files', '+442071838751', {
      auth_token_file: secretFile('a-token\n'),
      other_auth_token_file: secretFile('the-next-token'),
      api_key_sid: `SK${'0'.repeat(32)}`,
      api_key_secret_file: secretFile('secret\r\n'),
      calls_per_second: 250,
      base_url: 'https://api.dublin.ie1.twilio.com',
    });
    expect(carriersOf({ accounts: [entry] }).further[0]).toMatchObject({
      authToken: 'a-token',
      otherAuthToken: 'the-next-token',
      apiKey: { sid: `SK${'0'.repeat(32)}`, secret: 'secret' },
      callsPerSecond: 250,
      baseUrl: 'https://api.dublin.ie1.twilio.com',
    });
  });

  it('adds the pool default unless it has one', () => {
    expect(carriersOf(TWO_ACCOUNTS).pools.map(({ name }) => name)).toEqual(['europe', 'acme', 'default']);
    const shared = withPools({ name: 'default', accounts: ['default', 'europe'] });
    expect(carriersOf(shared).pools).toEqual([{ name: 'default', accounts: ['default', 'europe'], prefixes: [] }]);
  });

  it.each([
    ['not JSON', 'no', /accounts\.json is not valid: the file /],
    ['an unknown field', withAccount({ token: 'x' }), /accounts\.0 .*token/],
    ['no account id', withAccount({ account_sid: 'AC1' }), /accounts\.0\.account_sid must be AC and 32 digits/],
    ['a number that is not E.164', withAccount({ from_number: '020' }), /accounts\.0\.from_number must be a number/],
    ['a reserved name', withAccount({ name: 'default' }), /accounts\.0\.name must not be default or test/],
    ['a name with capitals', withAccount({ name: 'Europe' }), /accounts\.0\.name must be 1 to 32 lower-case/],
    ['a rate of 0', withAccount({ calls_per_second: 0 }), /accounts\.0\.calls_per_second/],
    ['no token', withAccount({ auth_token: undefined }), /accounts\.0 needs auth_token or auth_token_file/],
    ['two tokens', withAccount({ auth_token_file: '/none' }), /auth_token and .*auth_token_file are both set/],
    [
      'no such file',
      withAccount({ auth_token: undefined, auth_token_file: '/none' }),
      /auth_token_file names a file that cannot be read \(ENOENT\)/,
    ],
    ['half an API key', withAccount({ api_key_secret: 's' }), /accounts\.0 needs both api_key_sid and api_key_secret/],
    [
      'the same account twice',
      withAccount({}, {}),
      /accounts\.1\.name is .*accounts\.1\.account_sid is that of another/,
    ],
    [
      'the token of another account',
      withAccount({}, { name: 'b', account_sid: sidOf('AC', 'b') }),
      /accounts\.1\.auth_token is that of another account/,
    ],
    [
      'the account of test keys',
      withAccount({ account_sid: 'AC00000000000000000000000000000002' }),
      /accounts\.0\.account_sid is that of another account/,
    ],
    ['an empty pool', withPools({ name: 'a', accounts: [] }), /pools\.0\.accounts must name an account/],
    [
      'an unknown account',
      withPools({ name: 'a', accounts: ['b'] }),
      /pools\.0\.accounts must name accounts of the file/,
    ],
    [
      'a bad prefix',
      withPools({ name: 'a', accounts: ['acme'], prefixes: ['0'] }),
      /pools\.0\.prefixes\.0 must be the/,
    ],
    [
      'a prefix in two pools',
      withPools(
        { name: 'a', accounts: ['acme'], prefixes: ['+44'] },
        { name: 'b', accounts: ['acme'], prefixes: ['44'] },
      ),
      /pools\.1\.prefixes has \+44/,
    ],
    [
      'two pools of one name',
      withPools({ name: 'a', accounts: ['acme'] }, { name: 'a', accounts: ['europe'] }),
      /pools\.1\.name is that of an earlier pool/,
    ],
    [
      'an account of some customers in the pool of all',
      { ...ofSome, pools: [{ name: 'default', accounts: ['default', 'acme'] }] },
      /pools\.0\.accounts names acme, which has customers/,
    ],
    [
      'an account of some customers in a pool with prefixes',
      { ...ofSome, pools: [{ name: 'uk', accounts: ['acme'], prefixes: ['+44'] }] },
      /pools\.0\.accounts names acme, which has customers/,
    ],
  ])('with %s prevents the start, with the place of the fault', (_what, content, message) => {
    expect(() => carriersOf(content)).toThrow(message);
    expect(() => carriersOf(content)).toThrow(/^The configuration is invalid\..*CARRIER_ACCOUNTS_FILE: \//);
  });

  it('prevents the start if it cannot be read, and never quotes a secret', () => {
    const missing = { NODE_ENV: 'test', CARRIER_ACCOUNTS_FILE: '/none.json' };
    expect(() => parseConfig(missing)).toThrow(/CARRIER_ACCOUNTS_FILE: \/none\.json cannot be read: ENOENT\./);
    for (const content of [`{"accounts": [{"auth_token": "canary"`, withAccount({ auth_token: 'canary', name: '?' })]) {
      expect(() => carriersOf(content)).toThrow(/^((?!canary).)*$/s);
    }
  });

  it('follows the rules of the variables in production', () => {
    const production = { ...PRODUCTION, CARRIER: 'simulator' };
    expect(carriersOf(TWO_ACCOUNTS, production).further).toHaveLength(2);
    const weak = withAccount({
      auth_token: '11111111111111111111111111111111',
      base_url: 'http://carrier.example.com',
    });
    expect(() => carriersOf(weak, production)).toThrow(
      /accounts\.0\.auth_token must not be a published one.*accounts\.0\.base_url must use https/,
    );
    const short = withAccount({ other_auth_token: 'short' });
    expect(() => carriersOf(short, production)).toThrow(/accounts\.0\.other_auth_token has fewer than 32 characters/);
    const { ALLOW_INSECURE_DEVELOPMENT: _unused, ...twilio } = TWILIO;
    expect(() => carriersOf(short, { ...production, ...twilio })).toThrow(
      /accounts\.0\.other_auth_token must be the token of the account, 32 hexadecimal digits/,
    );
  });
});
