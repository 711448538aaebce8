/**
 * Number ranges used for toll fraud, as `country code, ranges`. There are three kinds:
 *
 * - the called party earns part of the price (premium rate, personal and mass-calling numbers);
 * - no national regulator is responsible (satellite and international networks);
 * - islands whose area codes look like those of the United States, which an account allowed to call +1 reaches by
 *   accident.
 *
 * All were checked in November 2026. Country codes that are not those of a country come from the ITU's list of assigned
 * E.164 codes. National ranges come from the regulators' numbering plans as collected by Google's libphonenumber (as of
 * libphonenumber-js 1.13.16): every valid number under one of these prefixes is of one of the three kinds, and none is
 * an ordinary line. Only Spain's 905 is missing there and comes from the regulator CNMC. The islands come from warnings
 * of FTC, FCC and FBI against returning calls to them.
 *
 * Three kinds of expensive numbers are not in the list: numbers that share all their prefixes with ordinary ones
 * (Ireland's 15xx with Dublin's numbers, British pagers with Manx mobiles); numbers with a surcharge that regulators
 * cap at cents (084 and 087 in Britain, 081 and 082 in France); and whole countries with expensive mobile networks,
 * which an operator excludes by the list of allowed countries.
 */
const RANGES: readonly (readonly [countryCode: string, ranges: string])[] = [
  // International premium rate; personal numbers; shared cost, which number sellers also offer for revenue.
  ['', '979 878 808'],
  // Inmarsat; other satellites; international networks.
  ['', '870 881 882 883'],
  // North America: pay per call.
  ['1', '900'],
  // Islands that share +1 and cost many times as much as the mainland: American Samoa, Anguilla, Antigua and Barbuda,
  // the Bahamas, Barbados, Bermuda, British Virgin Islands, Cayman Islands, Dominica, Dominican Republic, Grenada,
  // Jamaica, Montserrat, Saint Kitts and Nevis, Saint Lucia, Saint Vincent, Sint Maarten, Trinidad and Tobago, Turks
  // and Caicos.
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

/** E.164 prefixes, with the plus sign, that are rejected unless the account has a rule for them. */
export const HIGH_RISK_PREFIXES: readonly string[] = RANGES.flatMap(([countryCode, ranges]) =>
  ranges.split(' ').map((range) => `+${countryCode}${range}`),
);
