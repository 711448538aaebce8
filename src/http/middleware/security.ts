import type { Config } from '../../config.js';
import { clientOf } from '../../egress/client-address.js';
import { ServiceError } from '../../domain/errors.js';
import type { ApiContext } from '../context.js';

/** Headers that keep browsers from doing anything with our answers but showing them. */
export function securityHeaders(config: Config) {
  return async (ctx: ApiContext, next: () => Promise<unknown>): Promise<void> => {
    ctx.set({
      'Cache-Control': 'no-store',
      'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
    });
    if (config.production) ctx.set('Strict-Transport-Security', 'max-age=31536000; includeSubDomains');
    await next();
  };
}

/**
 * In production a request must have arrived over TLS: our own, or by the word of a proxy we are told to trust.
 * @throws ServiceError HTTPS_REQUIRED
 */
export function requireHttps(ctx: ApiContext, config: Config): void {
  if (!config.production || 'encrypted' in ctx.req.socket) return;
  // A chain of proxies appends; the last word is that of the proxy we talk to.
  const forwarded = ctx.get('X-Forwarded-Proto').split(',').at(-1)?.trim().toLowerCase();
  if (config.api.trustProxy && forwarded === 'https') return;
  throw new ServiceError('HTTPS_REQUIRED', 'Requests must use HTTPS.');
}

/** The client that a request counts for in rate limits; see `clientOf`. */
export function clientAddress(ctx: ApiContext, config: Config): string {
  return clientOf({
    forwardedFor: ctx.get('X-Forwarded-For'),
    remoteAddress: ctx.req.socket.remoteAddress,
    trustProxy: config.api.trustProxy,
  });
}
