/** The description of some numbers of a region in the plans of Google's libphonenumber, whose types lack it. */
interface Description {
  getNationalNumberPatternOrDefault(): string;
  possibleLengthArray(): number[];
  possibleLengthLocalOnlyArray(): number[];
}

interface Metadata {
  getCountryCodeOrDefault(): number;
  getInternationalPrefixOrDefault(): string;
  getNationalPrefixForParsingOrDefault(): string;
  getNationalPrefixTransformRuleOrDefault(): string;
  getLeadingDigitsOrDefault(): string;
  getSameMobileAndFixedLinePatternOrDefault(): boolean;
  getGeneralDesc(): Description;
  getPremiumRate(): Description;
  getTollFree(): Description;
  getSharedCost(): Description;
  getVoip(): Description;
  getPersonalNumber(): Description;
  getPager(): Description;
  getUan(): Description;
  getVoicemail(): Description;
  getFixedLine(): Description;
  getMobile(): Description;
}

/** The methods of `PhoneNumberUtil` that are used here. */
export interface PlanSource {
  getMetadataForRegion(region: string): Metadata | null;
  getMetadataForNonGeographicalRegion(countryCode: number): Metadata | null;
  /** The main region first. */
  getRegionCodesForCountryCode(countryCode: number): readonly string[];
}

/** The numbers of one kind, such as mobile numbers. */
interface Numbers {
  lengths: readonly number[];
  pattern: RegExp;
}

/** The numbers of a region. */
interface Plan {
  countryCode: string;
  /** The prefix of international calls, and the trunk prefix. */
  abroad: RegExp | undefined;
  trunk: RegExp | undefined;
  /** Replaces the trunk prefix if digits within it belong to the number. */
  trunkRule: string;
  leadingDigits: RegExp | undefined;
  all: Numbers;
  localLengths: readonly number[];
  kinds: readonly Numbers[];
}

/** The regions that share a country code. */
interface Country {
  main: Plan;
  plans: readonly Plan[];
  /** All lengths of their numbers. */
  lengths: ReadonlySet<number>;
}

/** The region of country codes that belong to no country. */
const NO_COUNTRY = '001';
const MAX_COUNTRY_CODE = 3;
const MIN_NATIONAL = 2;
/** Longer digits are no number. The patterns of the plans see no more. */
const MAX_DIGITS = 20;

export type NationalNumbers = ReturnType<typeof createNationalNumbers>;

/**
 * Finds the national number in digits, as `parse` and `isValidNumber` of Google's libphonenumber do for digits, but in a
 * microsecond rather than 25: it compiles the patterns of a region once.
 */
export function createNationalNumbers(source: PlanSource) {
  const plans = new Map<string, Plan | undefined>();
  const countries = new Map<string, Country | undefined>();

  function planOf(region: string): Plan | undefined {
    if (!plans.has(region)) plans.set(region, compiled(source.getMetadataForRegion(region)));
    return plans.get(region);
  }

  function countryOf(code: string): Country | undefined {
    if (!countries.has(code)) countries.set(code, countryWith(Number(code)));
    return countries.get(code);
  }

  function countryWith(code: number): Country | undefined {
    const found = source
      .getRegionCodesForCountryCode(code)
      .map((region) =>
        region === NO_COUNTRY ? compiled(source.getMetadataForNonGeographicalRegion(code)) : planOf(region),
      )
      .filter((plan) => plan !== undefined);
    const [main] = found;
    return main && { main, plans: found, lengths: new Set(found.flatMap(({ all }) => all.lengths)) };
  }

  /** @param digits with a country code */
  function ofInternational(digits: string): string | undefined {
    if (digits.length <= MIN_NATIONAL || digits.startsWith('0')) return undefined;
    for (let length = 1; length <= MAX_COUNTRY_CODE; length += 1) {
      const country = countryOf(digits.slice(0, length));
      if (country !== undefined) return validOf(digits.slice(length), country.main, country);
    }
    return undefined;
  }

  function ofRegion(digits: string, plan: Plan): string | undefined {
    const afterPrefix = withoutPrefix(plan.abroad, digits);
    // No country code begins with a zero.
    if (afterPrefix !== undefined && !afterPrefix.startsWith('0')) return ofInternational(afterPrefix);
    const country = countryOf(plan.countryCode);
    if (country === undefined) return undefined;
    const afterCode = withoutOwnCode(digits, plan);
    return afterCode === undefined ? validOf(digits, plan, country) : validOf(afterCode, country.main, country);
  }

  /**
   * Returns the national number without its trunk prefix; undefined if the digits are no valid number.
   * @param digits with a plus sign for an international number
   * @param region where people say the digits; not needed with a plus sign
   */
  return (digits: string, region = ''): string | undefined => {
    if (digits.length > MAX_DIGITS) return undefined;
    if (digits.startsWith('+')) return ofInternational(digits.slice(1));
    const plan = planOf(region);
    return plan && ofRegion(digits, plan);
  };
}

/** @param plan says how the number is written */
function validOf(digits: string, plan: Plan, country: Country): string | undefined {
  if (digits.length < MIN_NATIONAL) return undefined;
  const rest = withoutTrunk(digits, plan);
  const national = canBeNumber(rest, plan) ? rest : digits;
  return country.lengths.has(national.length) && isValid(national, country) ? national : undefined;
}

/** The leading digits of a region, or its numbers, say whether a number belongs to it. */
function isValid(national: string, { plans }: Country): boolean {
  const [only] = plans;
  if (plans.length === 1 && only !== undefined) return isOfPlan(national, only);
  for (const plan of plans) {
    if (plan.leadingDigits === undefined ? isOfPlan(national, plan) : plan.leadingDigits.test(national))
      return isOfPlan(national, plan);
  }
  return false;
}

function compiled(data: Metadata | null): Plan | undefined {
  if (data === null) return undefined;
  const all = data.getGeneralDesc();
  const kinds = [
    data.getFixedLine(),
    ...(data.getSameMobileAndFixedLinePatternOrDefault() ? [] : [data.getMobile()]),
    data.getTollFree(),
    data.getPremiumRate(),
    data.getSharedCost(),
    data.getPersonalNumber(),
    data.getVoip(),
    data.getPager(),
    data.getUan(),
    data.getVoicemail(),
  ];
  return {
    countryCode: String(data.getCountryCodeOrDefault()),
    abroad: prefixOf(data.getInternationalPrefixOrDefault()),
    trunk: prefixOf(data.getNationalPrefixForParsingOrDefault()),
    trunkRule: data.getNationalPrefixTransformRuleOrDefault(),
    leadingDigits: prefixOf(data.getLeadingDigitsOrDefault()),
    all: numbersOf(all),
    localLengths: all.possibleLengthLocalOnlyArray(),
    kinds: kinds.map(numbersOf),
  };
}

const prefixOf = (pattern: string) => (pattern === '' ? undefined : new RegExp(`^(?:${pattern})`));

function numbersOf(description: Description): Numbers {
  const pattern = new RegExp(`^(?:${description.getNationalNumberPatternOrDefault()})$`);
  return { lengths: description.possibleLengthArray(), pattern };
}

function isAmong({ lengths, pattern }: Numbers, digits: string): boolean {
  return (lengths.length === 0 || lengths.includes(digits.length)) && pattern.test(digits);
}

function isOfPlan(national: string, plan: Plan): boolean {
  return isAmong(plan.all, national) && plan.kinds.some((kind) => isAmong(kind, national));
}

function withoutPrefix(prefix: RegExp | undefined, digits: string): string | undefined {
  const [found] = prefix?.exec(digits) ?? [];
  return found === undefined ? undefined : digits.slice(found.length);
}

/** Removes the country code of the plan from digits that have it without a plus sign. */
function withoutOwnCode(digits: string, plan: Plan): string | undefined {
  const { countryCode } = plan;
  if (!digits.startsWith(countryCode)) return undefined;
  const rest = withoutTrunk(digits.slice(countryCode.length), plan);
  const { pattern } = plan.all;
  return (!pattern.test(digits) && pattern.test(rest)) || isTooLong(digits, plan) ? rest : undefined;
}

function withoutTrunk(digits: string, { trunk, trunkRule, all: { pattern } }: Plan): string {
  const found = trunk?.exec(digits);
  if (trunk === undefined || !found) return digits;
  const isMoved = trunkRule !== '' && (found.at(-1) ?? '') !== '';
  const rest = isMoved ? digits.replace(trunk, trunkRule) : digits.slice(found[0].length);
  return pattern.test(digits) && !pattern.test(rest) ? digits : rest;
}

/** Whether the length is one of a number, or too long. */
function canBeNumber({ length }: string, { all: { lengths }, localLengths }: Plan): boolean {
  if (lengths[0] === -1 || localLengths.includes(length)) return false;
  return lengths.includes(length) || length > (lengths.at(-1) ?? 0);
}

function isTooLong(digits: string, plan: Plan): boolean {
  return canBeNumber(digits, plan) && !plan.all.lengths.includes(digits.length);
}
