/** How people in the country of a number write the number. */
export interface NationalForms {
  /** With its plus sign. No country code begins with another one. */
  countryCode: string;
  /** The number without its country code, in digits. */
  national: string;
  /** With and without the trunk prefix, in digits. The form with the country code is none of them. */
  forms: readonly string[];
}

/**
 * Returns the national forms of an E.164 number by the plans of Google's libphonenumber, which cost 140 ms and 11 MB if
 * the process has not loaded them yet. Undefined if no country has the number.
 */
export async function nationalFormsOf(number: string): Promise<NationalForms | undefined> {
  const { default: library } = await import('google-libphonenumber');
  const util = library.PhoneNumberUtil.getInstance();
  try {
    const parsed = util.parse(number);
    const code = parsed.getCountryCodeOrDefault();
    const national = util.getNationalSignificantNumber(parsed);
    // Regions that share a country code can have different trunk prefixes.
    const regions = util.getSupportedRegions().filter((region) => util.getCountryCodeForRegion(region) === code);
    const prefixes = regions.map((region) => util.getNddPrefixForRegion(region, true));
    const written = digitsOf(util.format(parsed, library.PhoneNumberFormat.NATIONAL));
    const forms = new Set([national, written, ...prefixes.map((prefix) => `${prefix ?? ''}${national}`)]);
    forms.delete(number.slice(1));
    return { countryCode: `+${code}`, national, forms: [...forms] };
  } catch {
    return undefined;
  }
}

const digitsOf = (text: string) => text.replaceAll(/\D/g, '');
