import type { Config } from '../../platform/config/config.js';
import { ServiceError } from '../../kernel/errors.js';
import type { ApiContext } from '../../platform/http/context.js';

const MAX_AGE_SECONDS = 7 * 24 * 3_600;

/**
 * Returns the name and attributes of a cookie that is bound to our host and to TLS. Over plain HTTP, which only
 * development uses, the cookie is not bound, because browsers would reject it.
 */
export function cookieOf(config: Config, name: string): { name: string; attributes: string } {
  const secure = config.production || config.publicBaseUrl.startsWith('https:');
  const attributes = 'Path=/; HttpOnly; SameSite=Lax';
  return secure ? { name: `__Host-${name}`, attributes: `${attributes}; Secure` } : { name, attributes };
}

/** The value of a cookie; undefined if the browser sent none, or more than one. */
export function cookieValueOf(ctx: ApiContext, name: string): string | undefined {
  const values = ctx
    .get('Cookie')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`));
  return values.length === 1 ? values[0]?.slice(name.length + 1) : undefined;
}

export function sessionCookieOf(config: Config): { name: string; attributes: string } {
  return cookieOf(config, 'sid');
}

/** The session token; undefined if the browser sent none, or more than one. */
export function sessionTokenOf(ctx: ApiContext, config: Config): string | undefined {
  return cookieValueOf(ctx, sessionCookieOf(config).name);
}

/** Sets the session cookie, or deletes it if `token` is null. */
export function setSessionToken(ctx: ApiContext, config: Config, token: string | null): void {
  const { name, attributes } = sessionCookieOf(config);
  ctx.append('Set-Cookie', `${name}=${token ?? ''}; ${attributes}; Max-Age=${token === null ? 0 : MAX_AGE_SECONDS}`);
}

/**
 * Requires that a state-changing request with a cookie comes from our own pages. Checks Sec-Fetch-Site, or Origin if
 * that is missing. Also requires JSON, because an HTML form cannot send it.
 * @throws ServiceError FORBIDDEN, UNSUPPORTED_MEDIA_TYPE
 */
export function requireOwnOrigin(ctx: ApiContext, config: Config): void {
  const site = ctx.get('Sec-Fetch-Site');
  const own = site === '' ? ctx.get('Origin') === new URL(config.publicBaseUrl).origin : site === 'same-origin';
  if (!own) throw new ServiceError('FORBIDDEN', 'This request must come from a page of this service.');
  const type = ctx.get('Content-Type').split(';')[0]?.trim().toLowerCase();
  if (ctx.method !== 'DELETE' && type !== 'application/json') {
    throw new ServiceError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The Content-Type of the request must be application/json, even without a body.',
    );
  }
}
