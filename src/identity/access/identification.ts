import { z } from 'zod';
import type { Config } from '../../platform/config/config.js';
import { modeParameter } from '../../platform/http/contract/fields.js';
import type { Route } from '../../platform/http/contract/route.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Mode } from '../../kernel/ids.js';
import { mayUse } from '../../kernel/access.js';
import { createAccounts, limitsOf } from '../accounts/accounts.js';
import { createApiKeys } from '../api-keys/api-keys.js';
import type { IdentityDatabase } from '../database.js';
import type { SessionDocument } from '../people/model.js';
import { createSessions } from '../people/sessions.js';
import type { ApiContext } from '../../platform/http/context.js';
import { createLookUps } from './look-ups.js';
import type { MemberPrincipal, Principal } from './principal.js';
import { deadlineOf, within } from '../../platform/http/deadline.js';
import type { Standing } from './principal-watch.js';
import type { FailureLimiter, RateLimiter } from '../../platform/http/rate-limit.js';
import { requireOwnOrigin, sessionTokenOf } from './session-cookie.js';
import { validated } from '../../platform/http/validation.js';

/** Limit of all keys of an account in a mode, in multiples of one key's; unverified accounts have one key's limit. */
const KEYS_WORTH_OF_REQUESTS = 5;

export const BEARER_CHALLENGE = 'Bearer realm="callwright"';

/** Enough for portal pages, which send several requests at once and poll calls. */
const SESSION_REQUESTS_PER_MINUTE = 600;
/** Limit of all sessions of a person, as a multiple of one session's. */
const SESSIONS_WORTH_OF_REQUESTS = 2;

const ModeQuery = z.object({ mode: modeParameter });

export interface IdentificationDeps {
  config: Config;
  database: IdentityDatabase;
  rateLimiter: RateLimiter;
  failureLimiter: FailureLimiter;
}

/** Finds the principal of a key or session token, and counts the request. */
export function createIdentification(deps: IdentificationDeps) {
  const { config, rateLimiter, failureLimiter } = deps;
  const accounts = createAccounts(deps.database);
  const sessions = createSessions(deps.database);
  const apiKeys = createApiKeys({ database: deps.database, pepper: config.apiKeyPepper });
  const lookUps = createLookUps();

  /** Looks up a secret. Failures of an address affect only unsuccessful look-ups: a valid key always passes. */
  async function foundBy<T>(ctx: ApiContext, secret: string, lookUp: () => Promise<T | null>): Promise<T | null> {
    const deadline = deadlineOf(ctx);
    const isCrowded = await failureLimiter.isOver(ctx);
    return within(deadline, lookUps.find(secret, { isCrowded, deadline }, lookUp));
  }

  async function principalOf(ctx: ApiContext, secret: string | undefined, challenges: string[]): Promise<Principal> {
    const found = await foundBy(ctx, secret ?? '', () => apiKeys.authenticate(secret ?? ''));
    if (found === null) {
      await failureLimiter.count(ctx);
      throw unauthorized(ctx, challenges);
    }
    ctx.state.isAuthenticated = true;
    const { key, account } = found;
    const { requestsPerMinute } = limitsOf(account, key.mode, config.calls.liveLimits);
    // Counted against the key it descends from, so that a key gains no requests by creating others.
    const counted = key.ancestors?.[0] ?? key.keyId;
    const ofAccount = requestsPerMinute * (account.unverified ? 1 : KEYS_WORTH_OF_REQUESTS);
    const both = Promise.all([
      rateLimiter.count(ctx, counted, requestsPerMinute),
      rateLimiter.count(ctx, `${account._id}:${key.mode}`, ofAccount, { told: false }),
    ]);
    await within(deadlineOf(ctx), both);
    return { account, mode: key.mode, actor: { kind: 'key', keyId: key.keyId, name: key.name } };
  }

  async function keyOwnerOf(ctx: ApiContext, route: Route): Promise<Principal> {
    const principal = await principalOf(ctx, keyOf(ctx, false), [BEARER_CHALLENGE]);
    if (principal.mode === 'live' || route.changes !== 'account') return principal;
    throw new ServiceError('FORBIDDEN', 'A test key may not change what live calls depend on. Use a live key.');
  }

  async function memberOf(ctx: ApiContext): Promise<MemberPrincipal> {
    const token = sessionTokenOf(ctx, config) ?? '';
    const found = await foundBy(ctx, token, () => sessions.find(token));
    const account = found && (await within(deadlineOf(ctx), accounts.find(found.user.accountId)));
    if (!found || !account) {
      await failureLimiter.count(ctx);
      throw new ServiceError('UNAUTHORIZED', 'The session is over. Please log in.');
    }
    ctx.state.isAuthenticated = true;
    const { session, user, expiresAt } = found;
    await countOfSession(rateLimiter, ctx, session);
    const actor = {
      kind: 'member',
      userId: user._id,
      email: user.email,
      role: user.role,
      sessionId: session._id,
    } as const;
    return { account, mode: 'test', actor, user, sessionEndsAt: expiresAt };
  }

  async function byMember(ctx: ApiContext, route: Route): Promise<MemberPrincipal> {
    const member = await memberOf(ctx);
    if (route.method !== 'get') requireOwnOrigin(ctx, config);
    if (!mayUse(member.actor.role, route)) {
      throw new ServiceError('FORBIDDEN', `A ${member.actor.role} may not do this.`);
    }
    if (route.verified && member.user.unverified) {
      throw new ServiceError('FORBIDDEN', 'Verify your e-mail address first.');
    }
    return { ...member, mode: askedMode(ctx) ?? 'test' };
  }

  return {
    principalOf,
    keyOwnerOf,
    memberOf,
    byMember,

    /** The current standing of an earlier request's principal; null if it is no longer valid. */
    standingOf: async ({ actor, account }: Principal): Promise<Standing> => {
      if (actor.kind === 'key') return (await apiKeys.isInForce(actor.keyId)) ? {} : null;
      const user = await sessions.userOf(actor.sessionId);
      return user?.accountId === account._id && (await accounts.find(account._id)) ? { role: user.role } : null;
    },
  };
}

/** Counts a request of a session, and of all sessions of its person. @throws ServiceError RATE_LIMIT_EXCEEDED */
async function countOfSession(limiter: RateLimiter, ctx: ApiContext, session: SessionDocument): Promise<void> {
  const ofPerson = SESSION_REQUESTS_PER_MINUTE * SESSIONS_WORTH_OF_REQUESTS;
  const both = Promise.all([
    limiter.count(ctx, `session:${session._id}`, SESSION_REQUESTS_PER_MINUTE),
    limiter.count(ctx, `sessions:${session.userId}`, ofPerson, { told: false }),
  ]);
  await within(deadlineOf(ctx), both);
}

/**
 * The `mode` query parameter of a management API request.
 * @throws ServiceError MISSING_PARAMS
 */
export function askedMode(ctx: ApiContext): Mode | undefined {
  const values = new URLSearchParams(ctx.querystring).getAll('mode');
  return validated(ModeQuery, values.length === 0 ? {} : { mode: values.length > 1 ? values : values[0] }).mode;
}

/** The API key in the Authorization header; undefined if there is no such header, or more than one. */
export function keyOf(ctx: ApiContext, basicToo: boolean): string | undefined {
  const headers = ctx.req.headersDistinct['authorization'];
  if (headers?.length !== 1) return undefined;
  const [, scheme = '', credentials = ''] = /^([A-Za-z]+) +(\S+)$/.exec(headers[0] ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') return credentials;
  if (!basicToo || scheme.toLowerCase() !== 'basic') return undefined;
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(credentials, 'base64').toString('utf8')) ?? [];
  return password;
}

/** Sets WWW-Authenticate and returns the error to throw. */
export function unauthorized(ctx: ApiContext, challenges: string[]): ServiceError {
  ctx.set('WWW-Authenticate', challenges);
  return new ServiceError('UNAUTHORIZED', 'The API key is missing, invalid, revoked or expired.');
}
