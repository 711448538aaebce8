import { isLoopbackHost, mayBePlain } from './addresses.js';
import type { Environment } from './environment.js';

/** What only a service for others has. Without NODE_ENV=production such a service would be open to everybody. */
const SIGNS: readonly { variable: keyof Environment; found: (values: Environment) => string | undefined }[] = [
  { variable: 'CARRIER', found: ({ CARRIER }) => (CARRIER === 'twilio' ? 'CARRIER=twilio' : undefined) },
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
 * Why a configuration for others must not run with what only development may do: published secrets, open sign-up,
 * requests to private addresses.
 */
export function developmentFaults(values: Environment): { variable: string; sentence: string }[] {
  if (values.ALLOW_INSECURE_DEVELOPMENT) return [];
  return SIGNS.flatMap(({ variable, found }) => {
    const sign = found(values);
    if (sign === undefined) return [];
    const remedy =
      'Set NODE_ENV=production, or ALLOW_INSECURE_DEVELOPMENT=true to try things out with nothing to protect.';
    return [{ variable, sentence: `${sign} needs NODE_ENV=production. ${remedy}` }];
  });
}

/**
 * The names besides those of loopback by which a service on a developer's machine is asked; undefined: any. Any other name
 * is that of a web site which has pointed its own name at this machine, to reach what has no password here.
 */
export function answeredHosts(values: Environment): string[] | undefined {
  const { NODE_ENV, API_HOST, PUBLIC_BASE_URL, STREAM_URL } = values;
  if (NODE_ENV !== 'development') return undefined;
  const isLocal = isLoopbackHost(API_HOST.includes(':') ? `[${API_HOST}]` : API_HOST);
  // A container listens on every address, and is published on the developer's machine all the same.
  if (!isLocal && values.ALLOW_INSECURE_DEVELOPMENT) return undefined;
  return [PUBLIC_BASE_URL, STREAM_URL].map((url) => new URL(url).hostname);
}
