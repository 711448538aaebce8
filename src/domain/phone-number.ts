/** E.164 as the interface defines it: a plus, a digit 1 to 9, then 1 to 14 more digits. */
export const E164_PATTERN = /^\+[1-9][0-9]{1,14}$/;

export function isE164(value: unknown): value is string {
  return typeof value === 'string' && E164_PATTERN.test(value);
}

/** A number for logs: `+1415***1234`. Short numbers show no digits at all. */
export function maskPhoneNumber(value: string): string {
  return value.length < 9 ? '***' : `${value.slice(0, 5)}***${value.slice(-4)}`;
}

/**
 * Emergency and crisis lines with their country codes, as they would have to be written to pass E.164. A carrier would
 * refuse most of them; we never ask.
 */
const EMERGENCY_NUMBERS = new Set(
  [
    '1911',
    '1933',
    '1988',
    '44999',
    '44112',
    '61000',
    '61112',
    '64111',
    '91112',
    '91100',
    '81110',
    '81119',
    '86110',
  ].map((digits) => `+${digits}`),
);

/** Country codes in which 112 is the emergency number (Europe and neighbours). */
const CODES_WITH_112 = /^\+(3\d|3[578]\d|4\d|42\d|7|90)112$/;

export function isEmergencyNumber(value: string): boolean {
  return EMERGENCY_NUMBERS.has(value) || CODES_WITH_112.test(value);
}
