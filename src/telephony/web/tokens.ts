import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

import type { Config } from '../../platform/config/config.js';

const PART_BYTES = 16;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

export type LegTokens = ReturnType<typeof createLegTokens>;

/**
 * Makes the tokens by which a browser opens a socket of a call. A token contains a MAC over the call's id, so that a
 * forged one, or one of another call, costs no database read. The leg stores which token is valid.
 */
export function createLegTokens({ apiKeyPepper, formerPeppers }: Pick<Config, 'apiKeyPepper' | 'formerPeppers'>) {
  function macOf(pepper: string, callId: string, nonce: Buffer): Buffer {
    const mac = createHmac('sha256', pepper).update(`web-leg\n${callId}\n`).update(nonce).digest();
    return mac.subarray(0, PART_BYTES);
  }

  return {
    issue(callId: string): string {
      const nonce = randomBytes(PART_BYTES);
      return Buffer.concat([nonce, macOf(apiKeyPepper, callId, nonce)]).toString('base64url');
    },

    /** Whether this service made the token for this call. It may have expired or been used. */
    isGenuine(callId: string, token: string): boolean {
      if (!TOKEN.test(token)) return false;
      const bytes = Buffer.from(token, 'base64url');
      const [nonce, mac] = [bytes.subarray(0, PART_BYTES), bytes.subarray(PART_BYTES)];
      if (mac.length !== PART_BYTES) return false;
      return [apiKeyPepper, ...formerPeppers].some((pepper) => timingSafeEqual(mac, macOf(pepper, callId, nonce)));
    },
  };
}

export function hashOfToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
