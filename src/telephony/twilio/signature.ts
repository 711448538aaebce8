import { getExpectedTwilioSignature, validateRequest } from 'twilio/lib/webhooks/webhooks.js';

/** Form parameters as they arrived; a repeated key keeps all its values. */
export type SignedParams = Record<string, string | string[]>;

/**
 * Whether a request was signed by the carrier account. Never throws: what cannot be checked is not valid.
 * @param p.url the URL the carrier was told to call: configured public base plus the raw path and query, `wss://` for a
 *   stream's upgrade, without a fragment
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
    // The validator throws on what is not an absolute URL; a caller can send anything.
    return false;
  }
}

/** The `X-Twilio-Signature` of a request: base64 of HMAC-SHA1 over the URL (no fragment) and the sorted parameters. */
export function sign(p: { authToken: string; url: string; params: SignedParams }): string {
  return getExpectedTwilioSignature(p.authToken, p.url.split('#')[0] ?? '', p.params);
}
