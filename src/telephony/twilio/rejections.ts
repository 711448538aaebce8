import type { EndReason } from '../../kernel/call-state.js';
import type { CarrierRejection, DialOutcome } from '../port.js';

/**
 * Why Twilio's code means that no call exists, and what follows. `reason`: the cause in words. `remedy`: what the
 * operator has to do, if only the operator can remove the cause.
 */
type Meaning = { reason?: string; remedy?: string } & ({ endReason: EndReason } | { throttledForMs: number });

type Cause = Pick<Meaning, 'reason' | 'remedy'>;

const CREDENTIALS: Cause = {
  reason: 'The carrier did not accept the credentials of the service.',
  remedy:
    'Check TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN, or TWILIO_API_KEY_SID and TWILIO_API_KEY_SECRET, and whether the account is active.',
};
const TRIAL: Cause = {
  reason: 'A trial account at the carrier can call only verified numbers.',
  remedy: 'Upgrade the trial account, or verify the number in Twilio’s console.',
};
const CALLER_ID: Cause = {
  reason: 'The carrier does not allow calls from this number.',
  remedy:
    'The call came from a number that the Twilio account may not use: buy it there, or verify it as a caller ID, or call from another number (CARRIER_FROM_NUMBER).',
};
const PUBLIC_URL: Cause = {
  reason: 'The carrier did not accept a URL of the service.',
  remedy: 'Twilio does not accept the callback URLs: correct PUBLIC_BASE_URL.',
};
const INACTIVE: Cause = {
  reason: 'The account at the carrier is not active, or does not include calls.',
  remedy: 'The Twilio account is suspended, closed or a trial account without this feature: see Twilio’s console.',
};
const NUMBER: Cause = { reason: 'The carrier cannot call this number.' };

/**
 * Meanings by Twilio's error codes, from its error dictionary (https://www.twilio.com/docs/api/errors/<code>, read in
 * November 2026). 10004 and 22005 end when calls end or leave Twilio's queue. The dictionary names no HTTP status for
 * them.
 */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  10004: {
    throttledForMs: 5_000,
    reason: 'The account at the carrier has as many calls as it may have.',
    remedy: 'The Twilio account has reached its limit of concurrent calls: ask Twilio for a higher one.',
  },
  22005: {
    throttledForMs: 10_000,
    reason: 'The carrier’s queue of calls is full.',
    remedy: 'Twilio’s queue of calls is full: ask Twilio for more calls per second.',
  },
  21211: { endReason: 'invalid_number', ...NUMBER },
  21214: { endReason: 'invalid_number', ...NUMBER },
  21217: { endReason: 'invalid_number', ...NUMBER },
  21216: { endReason: 'rejected', reason: 'The carrier does not allow calls to this number.' },
  21215: {
    endReason: 'rejected',
    reason: 'The account at the carrier does not allow calls to this country.',
    remedy:
      'Enable the country in Twilio’s console under Voice Geographic Permissions, or remove it from ALLOWED_COUNTRY_PREFIXES.',
  },
  10001: { endReason: 'internal_error', ...INACTIVE },
  10002: { endReason: 'internal_error', ...INACTIVE },
  10005: { endReason: 'internal_error', ...INACTIVE },
  20003: { endReason: 'internal_error', ...CREDENTIALS },
  20403: { endReason: 'internal_error', ...INACTIVE },
  70051: {
    endReason: 'internal_error',
    reason: 'The service’s API key at the carrier does not allow calls.',
    remedy:
      'The API key (TWILIO_API_KEY_SID) may not use the account’s calls: use a standard key, or add the permission.',
  },
  21205: { endReason: 'internal_error', ...PUBLIC_URL },
  21609: { endReason: 'internal_error', ...PUBLIC_URL },
  21210: { endReason: 'internal_error', ...CALLER_ID },
  21212: { endReason: 'internal_error', ...CALLER_ID },
  21219: { endReason: 'internal_error', ...TRIAL },
};

/** Meaning of a rejection without a known code, by its HTTP status. */
const BY_STATUS: Readonly<Record<number, Meaning>> = {
  401: { endReason: 'internal_error', ...CREDENTIALS },
  403: { endReason: 'internal_error', ...CREDENTIALS },
};

const OTHER: Meaning = { endReason: 'carrier_failed' };

/** Classifies a 4xx response to a dial request, which proves that no call exists. */
export function toRejection(status: number, code: number | string | undefined): DialOutcome {
  const key = String(code);
  const known = Object.hasOwn(MEANINGS, key) ? MEANINGS[key] : undefined;
  // Too many requests at once, usually 20429. The cause is over in a moment.
  if (known === undefined && status === 429) return { outcome: 'throttled' };
  const meaning = known ?? BY_STATUS[status] ?? OTHER;
  const rejection: CarrierRejection = {
    // Only numbers, because the code is stored and logged.
    code: /^\d{1,6}$/.test(key) ? key : `HTTP ${status}`,
    ...(meaning.reason === undefined ? {} : { reason: meaning.reason }),
    ...(meaning.remedy === undefined ? {} : { remedy: meaning.remedy }),
  };
  if ('endReason' in meaning) return { outcome: 'refused', endReason: meaning.endReason, rejection };
  return { outcome: 'throttled', afterMs: meaning.throttledForMs, rejection };
}
