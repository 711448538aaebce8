import { createHash, randomBytes } from 'node:crypto';
import { CALL_SID } from '../../src/telephony/twilio/identifiers.js';

type Prefix = 'AC' | 'CA' | 'MZ';

/** An identifier of the carrier's form: two capitals and 32 hexadecimal digits. */
export function newSid(prefix: Prefix): string {
  return prefix + randomBytes(16).toString('hex');
}

/** The identifier that a test calls by a short name, the same one each time. */
export function sidOf(prefix: Prefix, name: string | number): string {
  return prefix + createHash('sha256').update(String(name)).digest('hex').slice(0, 32);
}

/** The simulated carrier, as far as a binding needs to know it. */
export const SIMULATED = { kind: 'simulator', isCallId: (text: string) => CALL_SID.test(text) };
