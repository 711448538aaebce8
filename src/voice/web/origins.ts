import type { Config } from '../../platform/config/config.js';

/**
 * Whether a browser's page may open sockets of calls: a page of this service, or of a configured origin. A client that
 * is not a browser sends no origin, and its token decides.
 */
export function isAllowedOrigin(
  origin: string | undefined,
  { publicBaseUrl, production, calls }: Pick<Config, 'publicBaseUrl' | 'production' | 'calls'>,
): boolean {
  if (origin === undefined) return true;
  const own = new URL(publicBaseUrl);
  if (origin === own.origin || calls.webOrigins.includes(origin)) return true;
  // A developer may open the portal at another name of the same machine.
  return !production && isLoopback(own.hostname) && ['localhost', '127.0.0.1'].some((name) => origin === at(own, name));
}

function at(url: URL, hostname: string): string {
  return new URL(`${url.protocol}//${hostname}:${url.port}`).origin;
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '127.0.0.1';
}
