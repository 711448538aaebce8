import type { Config } from '../config/config.js';
import { clientOf } from '../egress/client-address.js';
import { ServiceError } from '../../kernel/errors.js';
import type { ApiContext } from './context.js';

/** Browser features that none of our pages uses. */
const UNUSED_FEATURES = [
  'accelerometer',
  'camera',
  'display-capture',
  'geolocation',
  'gyroscope',
  'hid',
  'idle-detection',
  'local-fonts',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'usb',
  'xr-spatial-tracking',
];

/** Headers of every response. They restrict what a browser may do with the response. */
export const SECURITY_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': UNUSED_FEATURES.map((feature) => `${feature}=()`).join(', '),
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
} as const;

export function securityHeaders(config: Config) {
  const headers = Object.entries({
    ...SECURITY_HEADERS,
    ...(config.production && { 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' }),
  });
  return (ctx: ApiContext, next: () => Promise<unknown>): Promise<unknown> => {
    for (const [name, value] of headers) ctx.res.setHeader(name, value);
    return next();
  };
}

/**
 * Requires TLS in production, either on our socket or as reported by a trusted proxy.
 * @throws ServiceError HTTPS_REQUIRED
 */
export function requireHttps(ctx: ApiContext, config: Config): void {
  if (!config.production || 'encrypted' in ctx.req.socket) return;
  // Proxies append to the header, so the last value comes from the proxy that connects to us.
  const forwarded = ctx.get('X-Forwarded-Proto').split(',').at(-1)?.trim().toLowerCase();
  if (config.api.trustProxy && forwarded === 'https') return;
  throw new ServiceError('HTTPS_REQUIRED', 'Use HTTPS: the request arrived over HTTP.');
}

/** Returns the client that a request counts for in rate limits; see `clientOf`. */
export function clientAddress(ctx: ApiContext, config: Config): string {
  return clientOf({
    forwardedFor: ctx.get('X-Forwarded-For'),
    remoteAddress: ctx.req.socket.remoteAddress,
    trustProxy: config.api.trustProxy,
  });
}
