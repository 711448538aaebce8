import { isLoopbackHost, mayBePlain } from './addresses.js';
import { isLiveCarrierReal } from './carriers/carriers.js';
import type { Environment } from './environment.js';

/**
 * Settings found only in a service that others can reach. Without NODE_ENV=production such a service would be
 * unprotected.
 */
const SIGNS: readonly { variable: keyof Environment; found: (values: Environment) => string | undefined }[] = [
  { variable: 'CARRIER', found: (values) => (isLiveCarrierReal(values) ? `CARRIER=${values.CARRIER}` : undefined) },
  {
    variable: 'PAYMENT_WEBHOOK_SECRET',
    found: (values) => (values.PAYMENT_WEBHOOK_SECRET === undefined ? undefined : 'PAYMENT_WEBHOOK_SECRET'),
  },
  {
    variable: 'PUBLIC_BASE_URL',
    found: ({ PUBLIC_BASE_URL: address }) =>
      address.startsWith('https:') && !mayBePlain(address, 'machine')
        ? 'PUBLIC_BASE_URL with https and a host that is not this machine'
        : undefined,
  },
];

/**
 * Rejects development mode for a service that others can reach, because development uses published secrets, open
 * sign-up and requests to private addresses. Returns a sentence for each setting that shows this.
 */
export function developmentFaults(values: Environment): { variable: string; sentence: string }[] {
  if (values.ALLOW_INSECURE_DEVELOPMENT) return [];
  return SIGNS.flatMap(({ variable, found }) => {
    const sign = found(values);
    if (sign === undefined) return [];
    const remedy =
      'Set NODE_ENV=production, or ALLOW_INSECURE_DEVELOPMENT=true for experiments without data to protect.';
    return [{ variable, sentence: `${sign} needs NODE_ENV=production. ${remedy}` }];
  });
}

/**
 * Hostnames, besides loopback names, that the API accepts in development; undefined: any. Prevents DNS rebinding: a
 * website's hostname could point to this machine, where the API has no password.
 */
export function acceptedHosts(values: Environment): string[] | undefined {
  const { NODE_ENV, API_HOST, PUBLIC_BASE_URL, STREAM_URL } = values;
  if (NODE_ENV !== 'development') return undefined;
  const isLocal = isLoopbackHost(API_HOST.includes(':') ? `[${API_HOST}]` : API_HOST);
  // A container listens on all addresses even if only this machine can reach it. So an API_HOST that others could reach
  // is not enough to accept any hostname.
  if (!isLocal && values.ALLOW_INSECURE_DEVELOPMENT) return undefined;
  return [PUBLIC_BASE_URL, STREAM_URL].map((url) => new URL(url).hostname);
}
