import { parseConfig } from '../../src/platform/config/config.js';
import { chooseOrigin, type OwnNumber } from '../../src/telephony/accounts/choose-account.js';
import { accountEntry, ACME, EUROPE, writeAccountsFile } from '../support/carrier-accounts';

const FILE = {
  accounts: [EUROPE, ACME, accountEntry('london', '+442071838751', { calls_per_second: 30 })],
  pools: [
    { name: 'europe', accounts: ['europe'], prefixes: ['+44', '+49'] },
    { name: 'london', accounts: ['london', 'europe'], prefixes: ['+4420'] },
    { name: 'acme', accounts: ['acme'] },
  ],
};
const { carriers } = parseConfig({ NODE_ENV: 'test', CARRIER_ACCOUNTS_FILE: writeAccountsFile(FILE) });

const DEFAULT_NUMBER = carriers.live.fromNumber;
const OWN: OwnNumber = { _id: '+12025550142' };
const OWN_IN_EUROPE: OwnNumber = { _id: '+442071838799', carrierAccount: 'europe' };

function choose(given: Partial<Parameters<typeof chooseOrigin>[1]> = {}) {
  const origin = chooseOrigin(carriers, {
    to: '+12025550100',
    pool: undefined,
    agentNumber: undefined,
    numbers: [],
    seed: '1',
    ...given,
  });
  return 'account' in origin ? [origin.account.name, origin.from] : origin;
}

describe('the carrier account of an outbound call', () => {
  it('is the default one with its number, or with that of the customer', () => {
    expect(choose()).toEqual(['default', DEFAULT_NUMBER]);
    expect(choose({ numbers: [OWN] })).toEqual(['default', OWN._id]);
  });

  it('follows the longest prefix of the called number that a pool has', () => {
    expect(choose({ to: '+441632960001' })).toEqual(['europe', EUROPE.from_number]);
    expect(choose({ to: '+4915112345678' })).toEqual(['europe', EUROPE.from_number]);
    expect(choose({ to: '+442071838700', seed: '3' })).toEqual(
      expect.arrayContaining([expect.stringMatching(/\+4420/)]),
    );
    expect(choose({ to: '+4' })).toEqual(['default', DEFAULT_NUMBER]);
  });

  it('is one of the customer’s pool, whatever number is called', () => {
    expect(choose({ pool: 'acme' })).toEqual(['acme', ACME.from_number]);
    expect(choose({ pool: 'acme', to: '+442071838700' })).toEqual(['acme', ACME.from_number]);
  });

  it('goes with a number of the same account', () => {
    const numbers = [OWN, OWN_IN_EUROPE];
    expect(choose({ numbers })).toEqual(['default', OWN._id]);
    expect(choose({ numbers, to: '+441632960001' })).toEqual(['europe', OWN_IN_EUROPE._id]);
    // No number of the customer is in this pool.
    expect(choose({ numbers, pool: 'acme' })).toEqual(['acme', ACME.from_number]);
  });

  it('is that of the agent’s own number, which no other account may use', () => {
    const given = { numbers: [OWN, OWN_IN_EUROPE], pool: 'acme' };
    expect(choose({ ...given, agentNumber: OWN_IN_EUROPE })).toEqual(['europe', OWN_IN_EUROPE._id]);
    expect(choose({ ...given, agentNumber: OWN, to: '+441632960001' })).toEqual(['default', OWN._id]);
  });

  it('is the same for the same seed, and shared by calls per second', () => {
    const of = (seed: string) => choose({ to: '+442071838700', seed });
    const seeds = Array.from({ length: 2_000 }, (_, index) => String(index));
    for (const seed of seeds.slice(0, 20)) expect(of(seed)).toEqual(of(seed));
    const isLondon = seeds.filter((seed) => (of(seed) as string[])[0] === 'london').length;
    // On the simulated carrier the account without a rate has no limit, so both have the same share.
    expect(isLondon / seeds.length).toBeCloseTo(0.5, 1);
  });

  it('is shared by the rates if all accounts have one', () => {
    const limited = { ...carriers, further: carriers.further.map((each) => ({ callsPerSecond: 10, ...each })) };
    const seeds = Array.from({ length: 2_000 }, (_, index) => String(index));
    const chosen = seeds.map((seed) =>
      chooseOrigin(limited, { to: '+442071838700', pool: undefined, agentNumber: undefined, numbers: [], seed }),
    );
    const isLondon = chosen.filter((each) => 'account' in each && each.account.name === 'london').length;
    expect(isLondon / seeds.length).toBeCloseTo(0.75, 1);
  });

  it('is missing if the customer’s pool or the number’s account is not configured', () => {
    expect(choose({ pool: 'gone' })).toEqual({ missing: 'pool', name: 'gone' });
    const agentNumber = { _id: '+12025550143', carrierAccount: 'gone' };
    expect(choose({ agentNumber })).toEqual({ missing: 'account', name: 'gone' });
  });
});
