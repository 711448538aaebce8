import type { PhoneNumberUtil } from 'google-libphonenumber';

export type PhoneNumberCheck = ReturnType<typeof createPhoneNumberCheck>;

/** The prefix of international calls in most countries. */
const INTERNATIONAL_PREFIX = '00';
/** People in North America often leave out their trunk prefix. */
const OMITTED_PREFIX = '1';

/** Checks whether digits are a phone number that somebody can call, with the plans of Google's libphonenumber. */
export function createPhoneNumberCheck() {
  let util: PhoneNumberUtil | undefined;
  return {
    /** Loads the plans, which cost 140 ms and 11 MB if the process has not loaded them yet. */
    async load(): Promise<void> {
      const { default: library } = await import('google-libphonenumber');
      util = library.PhoneNumberUtil.getInstance();
    },

    /** Returns the regions of E.164 numbers and of language tags, in which people say numbers without a country code. */
    regionsOf(numbers: readonly string[], language: string): string[] {
      const ofNumbers = numbers.map((number) => util && regionOf(util, number));
      const found = [...ofNumbers, regionOfLanguage(language)].filter((region) => region !== undefined);
      return [...new Set(found)];
    },

    /**
     * Whether the digits are a valid number: an international one with `+` or `00`, or one of the regions with its trunk
     * prefix, if it has one. Until the plans are loaded, all digits count.
     */
    isPhoneNumber(digits: string, regions: readonly string[]): boolean {
      if (util === undefined) return true;
      if (digits.startsWith('+')) return isValid(util, digits);
      if (digits.startsWith(INTERNATIONAL_PREFIX) && isValid(util, `+${digits.slice(2)}`)) return true;
      const plans = util;
      return regions.some((region) => isValid(plans, digits, region));
    },
  };
}

function isValid(util: PhoneNumberUtil, digits: string, region?: string): boolean {
  try {
    const number = util.parse(digits, region);
    if (!util.isValidNumber(number)) return false;
    if (region === undefined || util.getNationalSignificantNumber(number) !== digits) return true;
    const prefix = util.getNddPrefixForRegion(region, true) ?? '';
    return prefix === '' || prefix === OMITTED_PREFIX;
  } catch {
    // Too short or too long.
    return false;
  }
}

function regionOf(util: PhoneNumberUtil, number: string): string | undefined {
  try {
    return util.getRegionCodeForNumber(util.parse(number)) ?? undefined;
  } catch {
    // A party of a call in the browser has no number.
    return undefined;
  }
}

function regionOfLanguage(tag: string): string | undefined {
  try {
    return new Intl.Locale(tag).maximize().region;
  } catch {
    return undefined;
  }
}
