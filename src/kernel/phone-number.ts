/** E.164 as the API defines it: a plus sign, a digit from 1 to 9, then 1 to 14 more digits. */
export const E164_PATTERN = /^\+[1-9][0-9]{1,14}$/;

export function isE164(value: unknown): value is string {
  return typeof value === 'string' && E164_PATTERN.test(value);
}

/** Masks a number for logs: `+1415***1234`. Numbers shorter than 9 characters are masked completely. */
export function maskPhoneNumber(value: string): string {
  return value.length < 9 ? '***' : `${value.slice(0, 5)}***${value.slice(-4)}`;
}
