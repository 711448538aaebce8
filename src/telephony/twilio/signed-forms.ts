import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { CarrierAccount } from '../../platform/config/config.js';
import { fieldsOf, type FormFields } from '../../platform/http/form.js';
import type { CarrierRequest } from '../callbacks.js';
import type { StreamUpgrade } from '../port.js';
import { isValidSignature } from './signature.js';

/** 20 bytes of HMAC-SHA1 in base64. */
const SIGNATURE = /^[A-Za-z0-9+/]{27}=$/;

/** Parsed forms by request. Several accounts check the same request, so its form is parsed only once. */
const forms = new WeakMap<CarrierRequest, FormFields>();

/**
 * Returns the form fields of a request.
 * @throws ServiceError MISSING_PARAMS when the form has too many fields
 */
export function parseForm(request: CarrierRequest): FormFields {
  const known = forms.get(request);
  if (known !== undefined) return known;
  const form = fieldsOf(request.body.toString('utf8'));
  forms.set(request, form);
  return form;
}

function signatureOf(headers: IncomingHttpHeaders): string | undefined {
  const signature = headers['x-twilio-signature'];
  return typeof signature === 'string' ? signature : undefined;
}

/** Whether a request has a well-formed signature. This needs no body, so it can run before the body is read. */
export function mayBeSigned(headers: IncomingHttpHeaders): boolean {
  return SIGNATURE.test(signatureOf(headers) ?? '');
}

/**
 * Whether the account signed the request for the URL that we configured.
 * @throws ServiceError as `parseForm` does
 */
export function isSignedForm(account: CarrierAccount, request: CarrierRequest): boolean {
  const form = parseForm(request);
  if (!isEqual(form['AccountSid'], account.carrierAccountId)) return false;
  const signed = { signature: signatureOf(request.headers), url: request.url, params: form };
  return tokensOf(account).some((authToken) => isValidSignature({ authToken, ...signed }));
}

/**
 * Whether an upgrade request has a well-formed signature. Our stream URLs end with the call's id, so anything after is
 * invalid.
 */
export function mayBeSignedUpgrade({ rest, headers }: StreamUpgrade): boolean {
  return rest === '' && mayBeSigned(headers);
}

/** Whether the account signed the upgrade request. */
export function isSignedUpgrade(account: CarrierAccount, upgrade: StreamUpgrade): boolean {
  if (!mayBeSignedUpgrade(upgrade)) return false;
  const signed = { signature: signatureOf(upgrade.headers), url: upgrade.url, params: {} };
  return tokensOf(account).some((authToken) => isValidSignature({ authToken, ...signed }));
}

function tokensOf({ authToken, otherAuthToken }: CarrierAccount): string[] {
  return otherAuthToken === undefined ? [authToken] : [authToken, otherAuthToken];
}

function isEqual(given: string | string[] | undefined, expected: string): boolean {
  const [left, right] = [Buffer.from(String(given)), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
