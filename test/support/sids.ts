import { createHash, randomBytes } from 'node:crypto';
import { CALL_SID } from '../../src/telephony/twilio/identifiers.js';

type Prefix = 'AC' | 'CA' | 'MZ';

/** A random id in Twilio's format: two capital letters and 32 hexadecimal digits. */
export function newSid(prefix: Prefix): string {
  return prefix + randomBytes(16).toString('hex');
}

/** An id derived from a short name, so that a test gets the same id for the same name. */
export function sidOf(prefix: Prefix, name: string | number): string {
  return prefix + createHash('sha256').update(String(name)).digest('hex').slice(0, 32);
}

/** The fields of the simulated carrier that a binding needs. */
export const SIMULATED = { kind: 'simulator', isCallId: (text: string) => CALL_SID.test(text) };
