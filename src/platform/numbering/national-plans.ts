import type * as GoogleLibphonenumber from 'google-libphonenumber';
import type { PhoneNumber, PhoneNumberUtil, RegionCode } from 'google-libphonenumber';
import type { NumberingPlans, ServiceNumber } from '../../kernel/destinations/destinations.js';

/** Numbers that reach an emergency service from phones of any country. */
const EMERGENCY_EVERYWHERE = new Set(['112', '911', '999']);

/** Country codes have up to three digits, and none is a prefix of another. */
const COUNTRY_CODE_LENGTHS = [1, 2, 3];

/**
 * Trunk prefixes that networks still accept although their national plans dropped them, by country code. Mexico's was
 * used before mobile numbers.
 */
const FORMER_TRUNK_PREFIXES: Readonly<Record<number, string>> = { 52: '1' };

type Library = typeof GoogleLibphonenumber;

/**
 * Loads the national plans for emergency and short numbers when they are first used. They cost 140 ms and 11 MB, so
 * processes that neither dial nor check numbers do not load them. Servers load them before they accept work.
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

  /** Checks the plans of all regions with the country code, because the digits do not tell which of them is called. */
  function kindOf(countryCode: number, national: string, regions: readonly RegionCode[]): ServiceNumber | undefined {
    const whole = phoneNumberOf(library, countryCode, national);
    if (util.isValidNumber(whole)) return undefined;
    // Networks may ignore digits after an emergency number, unless all digits together are a possible number.
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
      if (EMERGENCY_EVERYWHERE.has(number.slice(1))) return 'emergency';
      const parts = partsOf(number, regionsOf);
      return parts && kindOf(parts.countryCode, parts.national, parts.regions);
    },

    hasTrunkPrefix(number) {
      const canonical = canonicalOf(library, number);
      if (canonical !== undefined && canonical !== number) return true;
      const parts = partsOf(number, regionsOf);
      return parts !== undefined && beginsWithTrunkPrefix(library, parts);
    },

    withoutSurplusDigits(number) {
      const parts = partsOf(number, regionsOf);
      return parts === undefined ? number : `+${parts.countryCode}${cutToPlan(library, parts)}`;
    },

    countryOfDearNumber(number) {
      const parts = partsOf(number, regionsOf);
      return parts !== undefined && isDear(library, parts) ? `+${parts.countryCode}` : undefined;
    },
  };
}

/** Whether the callee earns a share of the price. Ignores surplus trailing digits, as networks do. */
function isDear(library: Library, parts: NumberParts): boolean {
  const { PREMIUM_RATE, PERSONAL_NUMBER } = library.PhoneNumberType;
  const national = cutToPlan(library, parts);
  if (national === '') return false;
  const number = phoneNumberOf(library, parts.countryCode, national);
  return [PREMIUM_RATE, PERSONAL_NUMBER].includes(library.PhoneNumberUtil.getInstance().getNumberType(number));
}

/**
 * Cuts the national digits to the longest valid number. If there is none, cuts to the maximum length in the country.
 */
function cutToPlan(library: Library, { countryCode, national }: NumberParts): string {
  const util = library.PhoneNumberUtil.getInstance();
  const { TOO_LONG } = library.PhoneNumberUtil.ValidationResult;
  const numberOf = (digits: string) => phoneNumberOf(library, countryCode, digits);
  const isTooLong = (digits: string) => util.isPossibleNumberWithReason(numberOf(digits)) === TOO_LONG;
  for (let digits = national; digits !== ''; digits = digits.slice(0, -1)) {
    if (util.isValidNumber(numberOf(digits))) return digits;
  }
  let digits = national;
  while (isTooLong(digits)) digits = digits.slice(0, -1);
  return digits;
}

interface NumberParts {
  countryCode: number;
  national: string;
  /** All regions that share the country code. */
  regions: readonly RegionCode[];
}

/** Splits a number into its parts; undefined if no country has its country code. */
function partsOf(number: string, regionsOf: ReadonlyMap<number, RegionCode[]>): NumberParts | undefined {
  const digits = number.slice(1);
  for (const length of COUNTRY_CODE_LENGTHS) {
    const countryCode = Number(digits.slice(0, length));
    const regions = regionsOf.get(countryCode);
    if (regions !== undefined) return { countryCode, national: digits.slice(length), regions };
  }
  return undefined;
}

/** Returns the E.164 number as the plans format it; undefined if they cannot parse it. */
function canonicalOf({ PhoneNumberUtil, PhoneNumberFormat }: Library, number: string): string | undefined {
  const util = PhoneNumberUtil.getInstance();
  try {
    return util.format(util.parse(number), PhoneNumberFormat.E164);
  } catch {
    return undefined;
  }
}

/**
 * Whether an invalid number, which {@link canonicalOf} leaves unchanged, begins with a trunk prefix. In valid numbers,
 * leading zeros belong to the number.
 */
function beginsWithTrunkPrefix(library: Library, { countryCode, national, regions }: NumberParts): boolean {
  const util = library.PhoneNumberUtil.getInstance();
  const { TOO_LONG, INVALID_LENGTH } = library.PhoneNumberUtil.ValidationResult;
  const whole = phoneNumberOf(library, countryCode, national);
  if (util.isValidNumber(whole)) return false;
  if (national.startsWith('0')) return true;
  const prefixes = new Set(regions.map((region) => util.getNddPrefixForRegion(region, true) ?? ''));
  prefixes.add(FORMER_TRUNK_PREFIXES[countryCode] ?? '');
  return [...prefixes].some((prefix) => {
    if (prefix === '' || !national.startsWith(prefix)) return false;
    if ([TOO_LONG, INVALID_LENGTH].includes(util.isPossibleNumberWithReason(whole))) return true;
    const rest = national.slice(prefix.length);
    return rest !== '' && util.isValidNumber(phoneNumberOf(library, countryCode, rest));
  });
}

function regionsByCountryCode(util: PhoneNumberUtil): Map<number, RegionCode[]> {
  const regions = new Map<number, RegionCode[]>();
  for (const region of util.getSupportedRegions()) {
    const countryCode = util.getCountryCodeForRegion(region);
    regions.set(countryCode, [...(regions.get(countryCode) ?? []), region]);
  }
  return regions;
}

/** Returns a national number as written, and without leading zeros or a trunk prefix. */
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
  // If all digits are zeros, keep the last one.
  const zeros = /^0*(?=\d)/.exec(national)?.[0].length ?? 0;
  if (zeros > 0) {
    number.setItalianLeadingZero(true);
    number.setNumberOfLeadingZeros(zeros);
  }
  return number;
}
