import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sign, type SignedParams } from '../../src/telephony/twilio/signature.js';
import type { Service, ServiceResponse } from './http/harness.js';
import { likeASecret } from './production.js';
import { sidOf } from './sids.js';

/** The callee of this number never answers. */
export const NEVER_ANSWERS = '+12025550102';
/** The callee of this number answers, and stays silent. */
export const SILENT = '+12025550107';
/** The carrier responds with 429 to the first two requests to dial this number. */
export const THROTTLED_TWICE = '+12025550131';
/** A person answers this number, talks without end and does not hang up. It is outside the region of every pool. */
export const TALKER = '+12025550108';
/** A person answers this number and says goodbye. It is outside the region of every pool. */
export const PERSON = '+12025550100';

/** A further carrier account as CARRIER_ACCOUNTS_FILE describes it. */
export function accountEntry(name: string, fromNumber: string, more: object = {}) {
  return {
    name,
    account_sid: sidOf('AC', name),
    auth_token: likeASecret(name).slice(0, 32),
    from_number: fromNumber,
    ...more,
  };
}

export const EUROPE = accountEntry('europe', '+442071838750');
export const ACME = accountEntry('acme', '+12025550188');

/** Two further accounts: one for a region, to which the numbers above belong, and one for customers. */
export const TWO_ACCOUNTS = {
  accounts: [EUROPE, ACME],
  pools: [
    { name: 'europe', accounts: ['europe'], prefixes: ['+44', NEVER_ANSWERS, SILENT, THROTTLED_TWICE] },
    { name: 'acme', accounts: ['acme'] },
  ],
};

/** Writes the text, or an object as JSON, to a new file. Returns its path. */
export function writeAccountsFile(content: object | string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'callwright-carriers-')), 'accounts.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

/**
 * Starts a carrier that accepts every call of every account, and sends no callbacks.
 * @param sidOfNext returns the id of a new call; `accountSid`: the account in the request's path
 */
export async function startAcceptingCarrier(
  sidOfNext: (request: IncomingMessage, accountSid: string) => string,
): Promise<{ url: string; close: () => Promise<unknown> }> {
  const carrier = createServer((request, response) => {
    const [, account_sid = ''] = /Accounts\/(AC[0-9a-f]{32})\//.exec(request.url ?? '') ?? [];
    const sid = sidOfNext(request, account_sid);
    const body = { sid, account_sid, status: 'queued', direction: 'outbound-api' };
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => carrier.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(carrier.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => carrier.close(resolve)),
  };
}

/** Sends a form with the signature of a carrier account. @param claimed the account that the form names */
export function postSignedBy(
  service: Service,
  signer: { account_sid: string; auth_token: string },
  path: string,
  form: Record<string, string>,
  claimed: string = signer.account_sid,
): Promise<ServiceResponse> {
  const params: SignedParams = { AccountSid: claimed, ...form };
  const url = `${service.config.publicBaseUrl}${path}`;
  const headers = { 'X-Twilio-Signature': sign({ authToken: signer.auth_token, url, params }) };
  return service.request(path, {
    method: 'POST',
    headers,
    body: new URLSearchParams(params as Record<string, string>),
  });
}

/** The account `default` in the form of the file. */
export function defaultAccountOf({ config }: Service) {
  const { carrierAccountId, authToken } = config.carriers.live;
  return { account_sid: carrierAccountId, auth_token: authToken };
}
