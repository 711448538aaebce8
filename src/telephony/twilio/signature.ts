import { getExpectedTwilioSignature, validateRequest } from 'twilio/lib/webhooks/webhooks.js';

/** Form parameters as received. A repeated key has a list of all its values. */
export type SignedParams = Record<string, string | string[]>;

/**
 * Whether the carrier account signed a request. Never throws: a signature that cannot be checked is invalid.
 * @param p.url the URL that we gave to the carrier: the configured public base URL plus the raw path and query, without
 * a fragment. For the upgrade request of a stream, it starts with `wss://`.
 * @param p.params every form parameter of a POST; `{}` for a GET or an upgrade
 */
export function isValidSignature(p: {
  authToken: string;
  signature: string | undefined;
  url: string;
  params: SignedParams;
}): boolean {
  if (!p.signature) return false;
  try {
    return validateRequest(p.authToken, p.signature, p.url, p.params);
  } catch {
    // The validator throws when the URL is not absolute, and clients can send any URL.
    return false;
  }
}

/**
 * Computes the `X-Twilio-Signature` of a request: base64 of HMAC-SHA1 over the URL (without fragment) and the sorted
 * parameters.
 */
export function sign(p: { authToken: string; url: string; params: SignedParams }): string {
  return getExpectedTwilioSignature(p.authToken, p.url.split('#')[0] ?? '', p.params);
}
