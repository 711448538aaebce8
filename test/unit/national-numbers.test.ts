import fc from 'fast-check';
import { PhoneNumberType, PhoneNumberUtil } from 'google-libphonenumber';
import { createNationalNumbers, type PlanSource } from '../../src/platform/numbering/national-numbers.js';

const util = PhoneNumberUtil.getInstance();
const nationalOf = createNationalNumbers(util as PhoneNumberUtil & PlanSource);

/** Asks the library, which takes some 25 µs. */
function foundByLibrary(digits: string, region?: string): string | undefined {
  try {
    const number = util.parse(digits, region);
    return util.isValidNumber(number) ? util.getNationalSignificantNumber(number) : undefined;
  } catch {
    return undefined;
  }
}

const regions = util.getSupportedRegions();
const types = Object.values(PhoneNumberType).filter((type): type is PhoneNumberType => Number(type) >= 0);

/** A valid national number of each kind in each region. */
const examples = regions.flatMap((region) =>
  types.flatMap((type) => {
    const example = util.getExampleNumberForType(region, type) as ReturnType<typeof util.parse> | null;
    return example === null ? [] : [{ region, national: util.getNationalSignificantNumber(example) }];
  }),
);

/** The forms in which people dial a national number, also wrong ones. */
function formsOf(national: string, region: string): string[] {
  const code = String(util.getCountryCodeForRegion(region));
  const trunk = util.getNddPrefixForRegion(region, true) ?? '0';
  return [
    ...['', trunk, code, code + trunk, '00' + code, '011' + code].map((prefix) => prefix + national),
    ...['+', `+${code}`, `+${code}${trunk}`].map((prefix) => prefix + national),
  ];
}

function expectAgreement(digits: string, region: string): void {
  const from = digits.startsWith('+') ? undefined : region;
  expect([digits, from, nationalOf(digits, from)]).toEqual([digits, from, foundByLibrary(digits, from)]);
}

describe('the national number in digits', () => {
  it('is what the library finds, for a number of each kind in each region', () => {
    expect(examples.length).toBeGreaterThan(1_000);
    for (const { region, national } of examples) {
      for (const digits of [national, ...formsOf(national, region).slice(-3)]) expectAgreement(digits, region);
    }
  });

  it('is what the library finds, for numbers with other digits, prefixes and lengths in any region', () => {
    const change = fc.record({ at: fc.nat(12), by: fc.stringMatching(/^\d{0,3}$/) });
    const sample = fc.constantFrom(...examples);
    fc.assert(
      fc.property(sample, fc.constantFrom(...regions), change, fc.nat(8), ({ region, national }, other, c, form) => {
        const changed = national.slice(0, c.at) + c.by + national.slice(c.at + c.by.length);
        expectAgreement(formsOf(changed, region)[form] ?? '', region);
        expectAgreement(formsOf(national, region)[form] ?? '', other);
      }),
      { numRuns: 2_000 },
    );
  });

  it('does not exist without a known region or code, or in more digits than any number has', () => {
    expect(['001', '419', 'ZZ', ''].map((region) => nationalOf('2025550143', region))).toEqual(
      Array(4).fill(undefined),
    );
    expect(['+', '+0', '+999123456789'].map((digits) => nationalOf(digits))).toEqual(Array(3).fill(undefined));
    expect(nationalOf('1'.repeat(100_000), 'US')).toBeUndefined();
  });
});
