import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { CarrierAccount, CarrierApiKey } from '../../../platform/config/config.js';

/** The credentials that the REST API accepts: the auth token of each account, and its API keys. */
export interface Credentials {
  /** Creates an API key of an account, as Twilio's console does. The secret is shown only here. */
  createKey(account: CarrierAccount): CarrierApiKey;
  /** Revokes an API key. @returns false when there is no such key */
  revokeKey(sid: string): boolean;
  /** Returns the account that these Basic credentials belong to; undefined when they are invalid. */
  findAccount(authorization: string | undefined): CarrierAccount | undefined;
}

/** Maximum number of API keys. Above it, the oldest ones are revoked. */
const MAX_KEYS = 100;

export function createCredentials(accounts: CarrierAccount[]): Credentials {
  const keys = new Map<string, { account: CarrierAccount; secret: string }>();

  return {
    createKey(account) {
      const key = { sid: `SK${randomBytes(16).toString('hex')}`, secret: randomBytes(16).toString('hex') };
      keys.set(key.sid, { account, secret: key.secret });
      const oldest = keys.keys().next();
      if (keys.size > MAX_KEYS && !oldest.done) keys.delete(oldest.value);
      return key;
    },
    revokeKey: (sid) => keys.delete(sid),
    findAccount(authorization) {
      const [scheme, encoded] = (authorization ?? '').split(' ');
      if (scheme?.toLowerCase() !== 'basic') return undefined;
      const given = Buffer.from(encoded ?? '', 'base64').toString('utf8');
      const key = keys.get(given.slice(0, given.indexOf(':')));
      if (key !== undefined) return isSame(given, `${given.split(':')[0]}:${key.secret}`) ? key.account : undefined;
      return accounts.find(({ carrierAccountId, authToken }) => isSame(given, `${carrierAccountId}:${authToken}`));
    },
  };
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
