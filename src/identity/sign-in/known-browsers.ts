import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Config } from '../../platform/config/config.js';
import type { ApiContext } from '../../platform/http/context.js';
import { cookieOf, cookieValueOf } from '../access/session-cookie.js';

const KNOWN_MS = 90 * 24 * 3_600_000;

/**
 * Returns the id of a browser in which the person has logged in before. Failed attempts of others at the same network
 * address then do not count against it. The browser's cookie is valid for one e-mail address, grants no access, and has
 * a separate limit of attempts, so a thief of the cookie has few guesses.
 */
export function knownBrowserOf(ctx: ApiContext, config: Config, email: string): string | undefined {
  const value = cookieValueOf(ctx, cookieOf(config, 'known').name) ?? '';
  const [, id = '', since = '', seal = ''] = /^(([\da-z]{1,10})-[\w-]{22})\.([\w-]{43})$/.exec(value) ?? [];
  if (id === '' || Date.now() - Number.parseInt(since, 36) > KNOWN_MS) return undefined;
  const isOurs = [config.apiKeyPepper, ...config.formerPeppers].some((pepper) =>
    timingSafeEqual(Buffer.from(seal), Buffer.from(sealOf(pepper, email, id))),
  );
  return isOurs ? id : undefined;
}

/** Sets the cookie that marks a browser as known. A known browser keeps its cookie. */
export function storeKnownBrowser(ctx: ApiContext, config: Config, email: string): void {
  if (knownBrowserOf(ctx, config, email) !== undefined) return;
  const { name, attributes } = cookieOf(config, 'known');
  const id = `${Date.now().toString(36)}-${randomBytes(16).toString('base64url')}`;
  ctx.append(
    'Set-Cookie',
    `${name}=${id}.${sealOf(config.apiKeyPepper, email, id)}; ${attributes}; Max-Age=${KNOWN_MS / 1_000}`,
  );
}

function sealOf(pepper: string, email: string, id: string): string {
  return createHmac('sha256', pepper).update(`known browser\n${email}\n${id}`).digest('base64url');
}
