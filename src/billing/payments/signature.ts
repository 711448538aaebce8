import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Allowed difference between a signature's time and ours: enough for clock skew, too short to replay a recorded
 * request.
 */
const TOLERANCE_SECONDS = 300;
const HEX = /^[0-9a-f]{64}$/i;

/**
 * Verifies a header `Stripe-Signature: t=<unix s>,v1=<hex>,…`: HMAC-SHA256 over `<t>.<raw body>`. During a secret
 * rotation a request has several `v1`; one match is enough.
 * @param p.now ms since the epoch
 */
export function isPaymentSignature(p: { secret: string; header: string; body: Buffer; now: number }): boolean {
  const parts = partsOf(p.header);
  if (parts === undefined || !isInTime(parts.time, p.now)) return false;
  const expected = createHmac('sha256', p.secret).update(`${parts.time}.`).update(p.body).digest();
  // Compare with all signatures, so that the duration does not reveal which one matched.
  return parts.signatures.map((signature) => isEqual(signature, expected)).includes(true);
}

/**
 * Whether a signature header is well-formed and its time is close to ours; checked before the body is read.
 * @param now ms since the epoch
 */
export function mayBePaymentSignature(header: string, now: number): boolean {
  const parts = partsOf(header);
  return parts !== undefined && isInTime(parts.time, now) && parts.signatures.some((each) => HEX.test(each));
}

function partsOf(header: string): { time: string; signatures: string[] } | undefined {
  const parts = header.split(',').map((part) => part.trim().split('='));
  const valuesOf = (name: string) =>
    parts.filter((part) => part[0] === name && part.length === 2).map(([, v = '']) => v);
  const [time, another] = valuesOf('t');
  if (time === undefined || another !== undefined || !/^\d{1,12}$/.test(time)) return undefined;
  return { time, signatures: valuesOf('v1') };
}

function isInTime(time: string, now: number): boolean {
  return Math.abs(now / 1_000 - Number(time)) <= TOLERANCE_SECONDS;
}

function isEqual(hex: string, expected: Buffer): boolean {
  const given = Buffer.from(HEX.test(hex) ? hex : '', 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
