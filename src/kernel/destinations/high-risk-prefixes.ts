/**
 * Ranges that toll fraud dials, as `country code, ranges`. Three kinds:
 *
 * - whoever is called gets a part of the price (premium rate, personal and mass-calling numbers);
 * - no country's regulator stands behind the number (satellite and international networks);
 * - islands whose area codes look like those of the United States, which an account that may call +1 reaches unawares.
 *
 * Each was checked in November 2026. Shared codes: the ITU's list of assigned E.164 codes. National ranges: the plans of
 * the regulators as Google's libphonenumber collects them (as of libphonenumber-js 1.13.16), where every number that is
 * valid under one of these prefixes is of such a kind and none is an ordinary line; only Spain's 905, which it does not
 * know, is from the regulator CNMC itself. Islands: the warnings of FTC, FCC and FBI against calls back to them.
 *
 * Not here, though dear: ranges that a prefix cannot tell from ordinary ones (Ireland's 15xx from Dublin's lines, British
 * pagers from Manx mobiles); surcharges that regulators keep to cents (084 and 087 in Britain, 081 and 082 in France);
 * and whole countries with dear mobile networks, for which there is the list of countries.
 */
const RANGES: readonly (readonly [countryCode: string, ranges: string])[] = [
  // Premium rate; personal numbers; shared cost, which number sellers offer for revenue as well.
  ['', '979 878 808'],
  // Inmarsat; other satellites; international networks.
  ['', '870 881 882 883'],
  // North America: pay per call.
  ['1', '900'],
  // Islands that share +1 and cost many times what the mainland does: American Samoa, Anguilla, Antigua and Barbuda, the
  // Bahamas, Barbados, Bermuda, British Virgin Islands, Cayman Islands, Dominica, Dominican Republic, Grenada, Jamaica,
  // Montserrat, Saint Kitts and Nevis, Saint Lucia, Saint Vincent, Sint Maarten, Trinidad and Tobago, Turks and Caicos.
  ['1', '684 264 268 242 246 441 284 345 767 809 829 849 473 658 876 664 869 758 784 721 868 649'],
  // Greece, Netherlands, Belgium, France, Spain, Hungary, Italy, Romania, Switzerland, Austria.
  ['30', '901 909'],
  ['31', '900 906 909'],
  ['32', '90'],
  ['33', '89'],
  ['34', '803 806 807 905'],
  ['36', '90 91'],
  ['39', '0878 892 893 894 895 899'],
  ['40', '900 901 903 906'],
  ['41', '90'],
  ['43', '900 901 930 931 939'],
  // United Kingdom with the Channel Islands: premium rate, and personal numbers, which look like mobiles.
  ['44', '9 70'],
  // Denmark, Sweden, Norway, Poland, Germany (with 0137, mass calling).
  ['45', '90'],
  ['46', '900 939 944'],
  ['47', '820 829'],
  ['48', '70'],
  ['49', '900 137'],
  // Australia, New Zealand, Japan, Turkey, South Africa.
  ['61', '190'],
  ['64', '900'],
  ['81', '990'],
  ['90', '900'],
  ['27', '90'],
  // Portugal, Luxembourg, Finland, Bulgaria, Lithuania, Latvia, Estonia.
  ['351', '601 607 608 646 648 760 761 762'],
  ['352', '900 901 905'],
  ['358', '600 700'],
  ['359', '90'],
  ['370', '900 902 903 909 910'],
  ['371', '90'],
  ['372', '900'],
  // Croatia, Slovenia, Czech Republic, Slovakia, Israel.
  ['385', '60 61 64 65 69'],
  ['386', '90'],
  ['420', '900 905 906 908 909 976'],
  ['421', '900'],
  ['972', '190'],
];

/** Prefixes that are refused unless the account has a rule for them; E.164, with their plus. */
export const HIGH_RISK_PREFIXES: readonly string[] = RANGES.flatMap(([countryCode, ranges]) =>
  ranges.split(' ').map((range) => `+${countryCode}${range}`),
);
