import { createHash, randomBytes } from 'node:crypto';
import { CALL_SID } from '../../src/telephony/twilio/identifiers.js';

type Prefix = 'AC' | 'CA' | 'MZ';

/** Returns a random id in Twilio's format: two capital letters and 32 hexadecimal digits. */
export function newSid(prefix: Prefix): string {
  return prefix + randomBytes(16).toString('hex');
}

/** Returns an id derived from a short name. The same name always gives the same id. */
export function sidOf(prefix: Prefix, name: string | number): string {
  return prefix + createHash('sha256').update(String(name)).digest('hex').slice(0, 32);
}

/** The fields of the simulated carrier that the creation of a binding needs. */
export const SIMULATED = { kind: 'simulator', isCallId: (text: string) => CALL_SID.test(text) };
