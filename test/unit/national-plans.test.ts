import { PhoneNumberFormat, PhoneNumberType, PhoneNumberUtil } from 'google-libphonenumber';
import type { NumberingPlans } from '../../src/kernel/destinations/destinations.js';
import { createPlansLoader } from '../../src/platform/numbering/national-plans.js';

let plans: NumberingPlans;
beforeAll(async () => {
  plans = await createPlansLoader()();
});

describe('national numbering plans', () => {
  it.each([
    ['the whole digits', ['+911', '+112', '+999']],
    ['digits behind a country code', ['+1911', '+44999', '+353999', '+49112', '+33112', '+61000', '+81110', '+91100']],
    ['digits that are one in another region of the country code', ['+1999', '+1112', '+7112', '+44112', '+358112']],
    ['112 in a country whose plan is not known', ['+240112', '+690911']],
    ['digits behind a national prefix', ['+440999', '+490112', '+11911', '+78112', '+3606112']],
    ['digits before some more that make no possible number', ['+449991', '+331121']],
  ])('know emergency numbers: %s', (_name, numbers) => {
    for (const number of numbers) expect([number, plans.serviceNumber(number)]).toEqual([number, 'emergency']);
  });

  it('know short numbers, dear ones too', () => {
    for (const number of ['+1411', '+1988', '+1933', '+44118118', '+33118712', '+49115', '+124280']) {
      expect([number, plans.serviceNumber(number)]).toEqual([number, 'short']);
    }
  });

  it('leave alone what is neither, however long', () => {
    const numbers = ['+12', '+123456789012345', '+19115550123', '+12025550112', '+4930112112', '+33112345678'];
    // No country has these codes, or none alone.
    for (const number of [...numbers, '+1', '+88', '+800112233', '+9991234567']) {
      expect([number, plans.serviceNumber(number)]).toEqual([number, undefined]);
    }
  });

  it('leave alone an example of every kind of number of every country', () => {
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
    // Of no number that the plan has, the most digits that one may have.
    ['+15555555555', '+155555555551', '+15555555555123'],
  ])('count %s with surplus digits as one number', (...numbers) => {
    const [line] = numbers;
    expect(numbers.map((number) => plans.withoutSurplusDigits(number))).toEqual(numbers.map(() => line));
  });

  it('cut no number that they do not know to be too long', () => {
    const numbers = ['+12', '+1', '+88', '+888', '+9991234567', '+999123456789012', '+390612345678', '+4930112112'];
    for (const number of numbers) expect(plans.withoutSurplusDigits(number)).toBe(number);
  });
});
