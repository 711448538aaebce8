import type { PhoneNumberUtil } from 'google-libphonenumber';
import { createNationalNumbers, type NationalNumbers, type PlanSource } from './national-numbers.js';

export type PhoneNumberCheck = ReturnType<typeof createPhoneNumberCheck>;

/** The prefix of international calls in most countries. */
const INTERNATIONAL_PREFIX = '00';
/** People in North America often leave out their trunk prefix. */
const OMITTED_PREFIX = '1';

/** Checks whether digits are a phone number that somebody can call, with the plans of Google's libphonenumber. */
export function createPhoneNumberCheck() {
  let util: PhoneNumberUtil | undefined;
  let nationalOf: NationalNumbers | undefined;

  function isValid(digits: string, region?: string): boolean {
    const national = nationalOf?.(digits, region);
    if (national === undefined || region === undefined || national !== digits) return national !== undefined;
    const prefix = util?.getNddPrefixForRegion(region, true) ?? '';
    return prefix === '' || prefix === OMITTED_PREFIX;
  }

  return {
    /** Loads the plans, which cost 140 ms and 11 MB if the process has not loaded them yet. */
    async load(): Promise<void> {
      const { default: library } = await import('google-libphonenumber');
      util = library.PhoneNumberUtil.getInstance();
      nationalOf = createNationalNumbers(util as PhoneNumberUtil & PlanSource);
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
      if (digits.startsWith('+')) return isValid(digits);
      if (digits.startsWith(INTERNATIONAL_PREFIX) && isValid(`+${digits.slice(2)}`)) return true;
      return regions.some((region) => isValid(digits, region));
    },
  };
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
