import { countedCaps, isBlockedDestination, isFictionalNumber } from '../../src/kernel/destinations/destinations.js';
import { HIGH_RISK_PREFIXES } from '../../src/kernel/destinations/high-risk-prefixes.js';

describe('a destination', () => {
  it.each(['242', '345', '441', '684', '721', '758', '784', '868', '869'])(
    'on an island that shares +1 is blocked unless a rule names its area code: %s',
    (area) => {
      expect(isBlockedDestination(`+1${area}5550123`, [{ prefix: '+1' }])).toBe(true);
      expect(isBlockedDestination(`+1${area}5550123`, [{ prefix: `+1${area}` }])).toBe(false);
    },
  );

  it.each([
    ['+19005550123', []],
    ['+97912345678', []],
    ['+88213000000', []],
    ['+449091234567', []],
    ['+491371234567', []],
    ['+33891234567', []],
    ['+34905123456', []],
    ['+390878123456', []],
    ['+39893123456', []],
    ['+37190123456', []],
    ['+870771234567', []],
    ['+8811234567890', []],
    // Jamaica is blocked unless a rule names its prefix: an account that allows +1 probably means North America.
    ['+18765550123', []],
    ['+18765550123', [{ prefix: '+1' }]],
    // A rule for a whole country does not allow the country's premium numbers.
    ['+19005550123', [{ prefix: '+1', callsPerDay: 100 }]],
    ['+12025550123', [{ prefix: '+1202', blocked: true }]],
    ['+12025550123', [{ prefix: '+1' }, { prefix: '+1202', blocked: true }]],
  ])('%s is blocked under the rules %j', (to, caps) => {
    expect(isBlockedDestination(to, caps)).toBe(true);
  });

  it.each([
    ['+12025550123', []],
    ['+442071234567', []],
    // These ordinary numbers are close to expensive ranges: Dublin, a British mobile, Bremen, Naples, an Italian
    // mobile, Auckland, Osaka.
    ['+35315241234', []],
    ['+447712345678', []],
    ['+494211234567', []],
    ['+390811234567', []],
    ['+393901234567', []],
    ['+6493001234', []],
    ['+81661234567', []],
    ['+17875550123', []],
    ['+18765550123', [{ prefix: '+1876' }]],
    ['+19005550123', [{ prefix: '+1900', callsPerHour: 5 }]],
    ['+19005550123', [{ prefix: '+19005' }]],
    ['+12025550123', [{ prefix: '+1', blocked: true }, { prefix: '+1202' }]],
  ])('%s may be called under the rules %j', (to, caps) => {
    expect(isBlockedDestination(to, caps)).toBe(false);
  });

  it('counts against every cap whose prefix matches', () => {
    const caps = [
      { prefix: '+1', callsPerDay: 100 },
      { prefix: '+1202', callsPerHour: 5, callsPerDay: 20 },
      { prefix: '+44', callsPerHour: 1 },
    ];
    expect(countedCaps('+12025550123', caps)).toEqual([
      { prefix: '+1', period: 'day', limit: 100 },
      { prefix: '+1202', period: 'hour', limit: 5 },
      { prefix: '+1202', period: 'day', limit: 20 },
    ]);
  });

  it('is fictional in the ranges reserved for fiction', () => {
    expect(['+12025550100', '+13105550199'].every(isFictionalNumber)).toBe(true);
    expect(['+12025550200', '+442025550100', '+1202555010'].some(isFictionalNumber)).toBe(false);
  });

  it('with a high-risk prefix matches exactly one listed prefix', () => {
    expect(new Set(HIGH_RISK_PREFIXES).size).toBe(HIGH_RISK_PREFIXES.length);
    for (const prefix of HIGH_RISK_PREFIXES) expect(prefix).toMatch(/^\+[1-9]\d{2,5}$/);
    // If one listed prefix began with another, the longer one would be redundant.
    const covered = HIGH_RISK_PREFIXES.filter((one) =>
      HIGH_RISK_PREFIXES.some((other) => other !== one && one.startsWith(other)),
    );
    expect(covered).toEqual([]);
  });
});
