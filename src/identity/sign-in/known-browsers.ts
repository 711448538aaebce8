import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Config } from '../../platform/config/config.js';
import type { ApiContext } from '../../platform/http/context.js';
import { cookieOf, cookieValueOf } from '../access/session-cookie.js';

const KNOWN_MS = 90 * 24 * 3_600_000;

/**
 * The id of a browser in which the person has logged in before, so that attempts of others at the same network address
 * do not count against it. Its cookie is valid for one e-mail address, grants no access, and has its own limit, so that
 * a stolen one allows few guesses.
 */
export function knownBrowserOf(ctx: ApiContext, config: Config, email: string): string | undefined {
  const value = cookieValueOf(ctx, cookieOf(config, 'known').name) ?? '';
  const [, id = '', since = '', seal = ''] = /^(([\da-z]{1,10})-[\w-]{22})\.([\w-]{43})$/.exec(value) ?? [];
  if (id === '' || Date.now() - Number.parseInt(since, 36) > KNOWN_MS) return undefined;
  return timingSafeEqual(Buffer.from(seal), Buffer.from(sealOf(config, email, id))) ? id : undefined;
}

/** Sets the cookie of a known browser; a known one keeps its cookie. */
export function rememberBrowser(ctx: ApiContext, config: Config, email: string): void {
  if (knownBrowserOf(ctx, config, email) !== undefined) return;
  const { name, attributes } = cookieOf(config, 'known');
  const id = `${Date.now().toString(36)}-${randomBytes(16).toString('base64url')}`;
  ctx.append('Set-Cookie', `${name}=${id}.${sealOf(config, email, id)}; ${attributes}; Max-Age=${KNOWN_MS / 1_000}`);
}

function sealOf({ apiKeyPepper }: Config, email: string, id: string): string {
  return createHmac('sha256', apiKeyPepper).update(`known browser\n${email}\n${id}`).digest('base64url');
}
