import type { EndReason } from '../../kernel/call-state.js';
import type { CarrierRefusal, DialOutcome } from '../port.js';

/**
 * Why Twilio's code means that no call exists, and what follows. `remedy`: what the operator has to do, if only the
 * operator can remove the cause.
 */
type Meaning = { remedy?: string } & ({ endReason: EndReason } | { throttledForMs: number });

const CREDENTIALS =
  'Check TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN, or TWILIO_API_KEY_SID and TWILIO_API_KEY_SECRET, and whether the account is active.';
const UPGRADE = 'Upgrade the trial account, or verify the number in Twilio’s console.';
const CALLER_ID =
  'The call came from a number that the Twilio account may not use: buy it there, or verify it as a caller ID, or call from another number (CARRIER_FROM_NUMBER).';
const PUBLIC_URL = 'Twilio does not accept the callback URLs: correct PUBLIC_BASE_URL.';
const INACTIVE =
  'The Twilio account is suspended, closed or a trial account without this feature: see Twilio’s console.';

/**
 * Meanings by Twilio's error codes, from its error dictionary (https://www.twilio.com/docs/api/errors/<code>, read in
 * November 2026). 10004 and 22005 end when calls end or leave Twilio's queue. The dictionary names no HTTP status for
 * them.
 */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  10004: {
    throttledForMs: 5_000,
    remedy: 'The Twilio account has reached its limit of concurrent calls: ask Twilio for a higher one.',
  },
  22005: {
    throttledForMs: 10_000,
    remedy: 'Twilio’s queue of calls is full: ask Twilio for more calls per second.',
  },
  21211: { endReason: 'invalid_number' },
  21214: { endReason: 'invalid_number' },
  21217: { endReason: 'invalid_number' },
  21216: { endReason: 'rejected' },
  21215: {
    endReason: 'rejected',
    remedy:
      'Enable the country in Twilio’s console under Voice Geographic Permissions, or remove it from ALLOWED_COUNTRY_PREFIXES.',
  },
  10001: { endReason: 'internal_error', remedy: INACTIVE },
  10002: { endReason: 'internal_error', remedy: INACTIVE },
  10005: { endReason: 'internal_error', remedy: INACTIVE },
  20003: { endReason: 'internal_error', remedy: CREDENTIALS },
  20403: { endReason: 'internal_error', remedy: INACTIVE },
  70051: {
    endReason: 'internal_error',
    remedy:
      'The API key (TWILIO_API_KEY_SID) may not use the account’s calls: use a standard key, or add the permission.',
  },
  21205: { endReason: 'internal_error', remedy: PUBLIC_URL },
  21609: { endReason: 'internal_error', remedy: PUBLIC_URL },
  21210: { endReason: 'internal_error', remedy: CALLER_ID },
  21212: { endReason: 'internal_error', remedy: CALLER_ID },
  21219: { endReason: 'internal_error', remedy: UPGRADE },
};

/** Meaning of a refusal without a known code, by its HTTP status. */
const BY_STATUS: Readonly<Record<number, Meaning>> = {
  401: { endReason: 'internal_error', remedy: CREDENTIALS },
  403: { endReason: 'internal_error', remedy: CREDENTIALS },
};

const OTHER: Meaning = { endReason: 'carrier_failed' };

/** Classifies a 4xx response to a dial request, which proves that no call exists. */
export function toRefusal(status: number, code: number | string | undefined): DialOutcome {
  const key = String(code);
  const known = Object.hasOwn(MEANINGS, key) ? MEANINGS[key] : undefined;
  // Too many requests at once, usually 20429. The cause is over in a moment.
  if (known === undefined && status === 429) return { outcome: 'throttled' };
  const meaning = known ?? BY_STATUS[status] ?? OTHER;
  const refusal: CarrierRefusal = {
    // Only numbers, because the code is stored and logged.
    code: /^\d{1,6}$/.test(key) ? key : `HTTP ${status}`,
    ...(meaning.remedy === undefined ? {} : { remedy: meaning.remedy }),
  };
  if ('endReason' in meaning) return { outcome: 'refused', endReason: meaning.endReason, refusal };
  return { outcome: 'throttled', afterMs: meaning.throttledForMs, refusal };
}
