import { PhoneNumberFormat, PhoneNumberType, PhoneNumberUtil } from 'google-libphonenumber';
import type { NumberingPlans } from '../../src/kernel/destinations/destinations.js';
import { createPlansLoader } from '../../src/platform/numbering/national-plans.js';

let plans: NumberingPlans;
beforeAll(async () => {
  plans = await createPlansLoader()();
});

describe('the national numbering plans', () => {
  it.each([
    ['as the whole number', ['+911', '+112', '+999']],
    ['after a country code', ['+1911', '+44999', '+353999', '+49112', '+33112', '+61000', '+81110', '+91100']],
    ['of another region with the same country code', ['+1999', '+1112', '+7112', '+44112', '+358112']],
    ['112 in a country with an unknown plan', ['+240112', '+690911']],
    ['after a national prefix', ['+440999', '+490112', '+11911', '+78112', '+3606112']],
    ['before further digits that make no possible number', ['+449991', '+331121']],
  ])('recognize emergency numbers %s', (_name, numbers) => {
    for (const number of numbers) expect([number, plans.serviceNumber(number)]).toEqual([number, 'emergency']);
  });

  it('recognize short numbers, including expensive ones', () => {
    for (const number of ['+1411', '+1988', '+1933', '+44118118', '+33118712', '+49115', '+124280']) {
      expect([number, plans.serviceNumber(number)]).toEqual([number, 'short']);
    }
  });

  it('accept ordinary and impossible numbers that are neither', () => {
    const numbers = ['+12', '+123456789012345', '+19115550123', '+12025550112', '+4930112112', '+33112345678'];
    // Each number that is added here has a country code that no country uses, or too few digits.
    for (const number of [...numbers, '+1', '+88', '+800112233', '+9991234567']) {
      expect([number, plans.serviceNumber(number)]).toEqual([number, undefined]);
    }
  });

  it('accept an example of every type of number in every country', () => {
    const util = PhoneNumberUtil.getInstance();
    const kinds = Object.values(PhoneNumberType).filter((kind) => typeof kind === 'number');
    const examples = util
      .getSupportedRegions()
      .flatMap((region) => kinds.map((kind) => util.getExampleNumberForType(region, kind)))
      .filter((example) => example !== null && example !== undefined)
      .map((example) => util.format(example, PhoneNumberFormat.E164));
    expect(examples.length).toBeGreaterThan(1_000);
    expect(examples.filter((number) => plans.serviceNumber(number) !== undefined)).toEqual([]);
    expect(examples.filter((number) => plans.hasTrunkPrefix(number))).toEqual([]);
    expect(examples.filter((number) => plans.withoutSurplusDigits(number) !== number)).toEqual([]);
  });

  it.each([
    ['+12025550102', '+120255501021', '+12025550102123'],
    ['+442079460999', '+4420794609991', '+44207946099912'],
    ['+33123456789', '+331234567890', '+33123456789012'],
    ['+6561234567', '+65612345678', '+656123456789'],
    // For a number that is not assigned, the maximum number of digits in the national plan applies.
    ['+15555555555', '+155555555551', '+15555555555123'],
  ])('treat %s with surplus digits as the same number', (...numbers) => {
    const [line] = numbers;
    expect(numbers.map((number) => plans.withoutSurplusDigits(number))).toEqual(numbers.map(() => line));
  });

  it('do not shorten a number that is not known to be too long', () => {
    const numbers = ['+12', '+1', '+88', '+888', '+9991234567', '+999123456789012', '+390612345678', '+4930112112'];
    for (const number of numbers) expect(plans.withoutSurplusDigits(number)).toBe(number);
  });
});
