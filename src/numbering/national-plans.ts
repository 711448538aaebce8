import type * as GoogleLibphonenumber from 'google-libphonenumber';
import type { PhoneNumber, PhoneNumberUtil, RegionCode } from 'google-libphonenumber';
import type { NumberingPlans, ServiceNumber } from '../domain/destinations.js';

/** Reach an emergency service from phones of any country. */
const EMERGENCY_EVERYWHERE = new Set(['112', '911', '999']);

/** Country codes have at most three digits, and none begins with another. */
const COUNTRY_CODE_LENGTHS = [1, 2, 3];

type Library = typeof GoogleLibphonenumber;

/**
 * The national plans for emergency and short numbers, loaded when they are first asked for: that costs the process
 * 140 ms and 11 MB, which one that neither dials nor checks numbers need not pay. Servers ask before they take work.
 */
export function createPlansLoader(): () => Promise<NumberingPlans> {
  let plans: Promise<NumberingPlans> | undefined;
  return () => (plans ??= import('google-libphonenumber').then(({ default: library }) => plansOf(library)));
}

function plansOf(library: Library): NumberingPlans {
  const { PhoneNumberUtil, ShortNumberInfo } = library;
  const util = PhoneNumberUtil.getInstance();
  const shortNumbers = ShortNumberInfo.getInstance();
  const regionsOf = regionsByCountryCode(util);

  /** By the plan of every region that shares the country code: which of them a number reaches, its digits do not tell. */
  function kindOf(countryCode: number, national: string, regions: readonly RegionCode[]): ServiceNumber | undefined {
    const whole = phoneNumberOf(library, countryCode, national);
    if (util.isValidNumber(whole)) return undefined;
    // Digits behind an emergency number may get lost on the way, unless all together are a possible number.
    const isPossible = util.isPossibleNumberWithReason(whole) === PhoneNumberUtil.ValidationResult.IS_POSSIBLE;
    const written = spellingsOf(util, national, regions);
    const isEmergency = written.some(
      (digits) =>
        EMERGENCY_EVERYWHERE.has(digits) ||
        regions.some((region) => shortNumbers.isEmergencyNumber(digits, region)) ||
        (!isPossible && regions.some((region) => shortNumbers.connectsToEmergencyNumber(digits, region))),
    );
    if (isEmergency) return 'emergency';
    const isShort = written.some((digits) =>
      shortNumbers.isValidShortNumber(phoneNumberOf(library, countryCode, digits)),
    );
    return isShort ? 'short' : undefined;
  }

  return {
    serviceNumber(number) {
      const digits = number.slice(1);
      if (EMERGENCY_EVERYWHERE.has(digits)) return 'emergency';
      for (const length of COUNTRY_CODE_LENGTHS) {
        const countryCode = Number(digits.slice(0, length));
        const regions = regionsOf.get(countryCode);
        if (regions !== undefined) return kindOf(countryCode, digits.slice(length), regions);
      }
      return undefined;
    },
  };
}

function regionsByCountryCode(util: PhoneNumberUtil): Map<number, RegionCode[]> {
  const regions = new Map<number, RegionCode[]>();
  for (const region of util.getSupportedRegions()) {
    const countryCode = util.getCountryCodeForRegion(region);
    regions.set(countryCode, [...(regions.get(countryCode) ?? []), region]);
  }
  return regions;
}

/** A national number as it is written, and without the prefix of calls within the country, which some write in. */
function spellingsOf(util: PhoneNumberUtil, national: string, regions: readonly RegionCode[]): string[] {
  const prefixes = regions.map((region) => util.getNddPrefixForRegion(region, true) ?? '');
  const rests = prefixes.map((prefix) => (national.startsWith(prefix) ? national.slice(prefix.length) : ''));
  const spellings = new Set([national, national.replace(/^0+/, ''), ...rests]);
  spellings.delete('');
  return [...spellings];
}

function phoneNumberOf({ PhoneNumber }: Library, countryCode: number, national: string): PhoneNumber {
  const number = new PhoneNumber();
  number.setCountryCode(countryCode);
  number.setNationalNumber(Number(national));
  // Of a number that is all zeros, the last one is its value.
  const zeros = /^0*(?=\d)/.exec(national)?.[0].length ?? 0;
  if (zeros > 0) {
    number.setItalianLeadingZero(true);
    number.setNumberOfLeadingZeros(zeros);
  }
  return number;
}
