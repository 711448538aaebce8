import { z } from 'zod';
import type { Config } from '../../platform/config/config.js';
import { modeParameter } from '../../platform/http/contract/fields.js';
import type { Route } from '../../platform/http/contract/route.js';
import { roleNotPermitted } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Mode } from '../../kernel/ids.js';
import { mayUse } from '../../kernel/access.js';
import { createAccounts, limitsOf } from '../accounts/accounts.js';
import { createApiKeys, type ValidApiKey } from '../api-keys/api-keys.js';
import { keyPeppersOf } from '../api-keys/key-search.js';
import type { IdentityDatabase } from '../database.js';
import type { LoginSessionDocument } from '../people/model.js';
import { createLoginSessions, type LiveLoginSession } from '../people/login-sessions.js';
import type { ApiContext } from '../../platform/http/context.js';
import { createCredentialLookups } from './credential-lookups.js';
import type { MemberPrincipal, Principal } from './principal.js';
import { deadlineOf, withDeadline } from '../../platform/http/deadline.js';
import type { CurrentAccess } from './principal-watch.js';
import type { FailureLimiter, RateLimiter } from '../../platform/http/rate-limits/rate-limit.js';
import { createSenderQueue } from '../../platform/http/sender-queue.js';
import { clientAddress } from '../../platform/http/security.js';
import { networksOf } from '../../platform/egress/client-address.js';
import { requireOwnOrigin, sessionTokenOf } from './session-cookie.js';
import { validated } from '../../platform/http/validation.js';

/**
 * An account's keys of one mode together have this many times the limit of one key. In unverified accounts, they share
 * the limit of one key.
 */
const KEYS_WORTH_OF_REQUESTS = 5;

export const BEARER_CHALLENGE = 'Bearer realm="callwright"';

/** Limit of one session: enough for portal pages, which send several requests at once and read calls repeatedly. */
const SESSION_REQUESTS_PER_MINUTE = 600;
/** All sessions of a person together have this many times the limit of one session. */
const SESSIONS_WORTH_OF_REQUESTS = 2;

const ModeQuery = z.object({ mode: modeParameter });

/** Maximum requests whose sender is looked up at the same time: fewer than half of the 20 database connections. */
const MAX_RUNNING = 8;

const accountOfKey = ({ account }: ValidApiKey): string => account._id;
const accountOfSession = ({ user }: LiveLoginSession): string => user.accountId;

/** A key or session token, and how to find what it belongs to. */
interface Credential<T> {
  secret: string;
  lookup: () => Promise<T | null>;
  accountIdOf: (found: T) => string;
}

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
  const sessions = createLoginSessions(deps.database);
  const apiKeys = createApiKeys({ database: deps.database, ...keyPeppersOf(config) });
  const credentialLookups = createCredentialLookups();
  const queue = createSenderQueue({ maxRunning: MAX_RUNNING });

  /**
   * Identifies the sender in a queue that serves accounts in turn, or networks if the sender is unknown. Unknown
   * senders with too many failures have a separate queue, see `createCredentialLookups`. A valid key is found even if
   * its network address has had too many failures.
   * @throws ServiceError RATE_LIMIT_EXCEEDED, SERVICE_UNAVAILABLE, or what `identify` throws
   */
  async function identifyQueued<T, P>(
    ctx: ApiContext,
    { secret, lookup, accountIdOf }: Credential<T>,
    identify: (found: T | null) => Promise<P>,
  ): Promise<P> {
    const id = credentialLookups.idOf(secret);
    const work = async () => {
      const deadline = deadlineOf(ctx);
      const hasFailedTooOften = await failureLimiter.isOver(ctx);
      const found = credentialLookups.find(id, { hasFailedTooOften, deadline }, lookup, accountIdOf);
      return identify(await withDeadline(deadline, found));
    };
    const accountId = credentialLookups.accountIdOf(id);
    if (accountId !== undefined) return queue.run(ctx, [accountId], work);
    if (await failureLimiter.isOver(ctx)) return work();
    return queue.run(ctx, ['unknown', ...networksOf(clientAddress(ctx, config))], work);
  }

  function principalOf(ctx: ApiContext, sent: string | undefined, challenges: string[]): Promise<Principal> {
    const secret = sent ?? '';
    // A cached key needs no database connection, so it waits in no queue.
    const cached = apiKeys.findCached(secret);
    if (cached) return keyHolderOf(ctx, cached, challenges);
    const credential = { secret, lookup: () => apiKeys.authenticate(secret), accountIdOf: accountOfKey };
    return identifyQueued(ctx, credential, (found) => keyHolderOf(ctx, found, challenges));
  }

  async function keyHolderOf(ctx: ApiContext, found: ValidApiKey | null, challenges: string[]): Promise<Principal> {
    if (found === null) {
      await failureLimiter.count(ctx);
      throw unauthorized(ctx, challenges);
    }
    ctx.state.isAuthenticated = true;
    const { key, account } = found;
    const { requestsPerMinute } = limitsOf(account, key.mode, config.calls.liveLimits);
    // Count requests of a key against its first ancestor. Otherwise a key could get more requests by creating other
    // keys.
    const counted = key.ancestors?.[0] ?? key.keyId;
    const ofAccount = requestsPerMinute * (account.unverified ? 1 : KEYS_WORTH_OF_REQUESTS);
    const counting = rateLimiter.count(ctx, [
      { key: counted, requestsPerMinute, hasHeaders: true },
      { key: `${account._id}:${key.mode}`, requestsPerMinute: ofAccount },
    ]);
    if (counting !== undefined) await withDeadline(deadlineOf(ctx), counting);
    return { account, mode: key.mode, actor: { kind: 'key', keyId: key.keyId, name: key.name }, sender: counted };
  }

  async function keyOwnerOf(ctx: ApiContext, route: Route): Promise<Principal> {
    const principal = await principalOf(ctx, keyOf(ctx, false), [BEARER_CHALLENGE]);
    if (principal.mode === 'live' || route.changes !== 'account') return principal;
    throw new ServiceError('FORBIDDEN', 'A test key cannot change settings of live calls. Use a live key.');
  }

  async function memberOf(ctx: ApiContext): Promise<MemberPrincipal> {
    const secret = sessionTokenOf(ctx, config) ?? '';
    const credential = { secret, lookup: () => sessions.find(secret), accountIdOf: accountOfSession };
    return identifyQueued(ctx, credential, (found) => sessionHolderOf(ctx, found));
  }

  async function sessionHolderOf(ctx: ApiContext, found: LiveLoginSession | null): Promise<MemberPrincipal> {
    const account = found && (await withDeadline(deadlineOf(ctx), accounts.find(found.user.accountId)));
    if (!found || !account) {
      await failureLimiter.count(ctx);
      throw new ServiceError('UNAUTHORIZED', 'The login session has ended. Log in again.');
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
    return { account, mode: 'test', actor, sender: user._id, user, sessionEndsAt: expiresAt };
  }

  async function byMember(ctx: ApiContext, route: Route): Promise<MemberPrincipal> {
    const member = await memberOf(ctx);
    if (route.method !== 'get') requireOwnOrigin(ctx, config);
    if (!mayUse(member.actor.role, route)) {
      throw roleNotPermitted(member.actor.role);
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

    /**
     * Returns the current rights of the principal of an earlier request; null if its key or session is no longer valid.
     */
    readCurrentAccess: async ({ actor, account }: Principal): Promise<CurrentAccess> => {
      if (actor.kind === 'key') return (await apiKeys.isInForce(actor.keyId)) ? {} : null;
      const user = await sessions.userOf(actor.sessionId);
      return user?.accountId === account._id && (await accounts.find(account._id)) ? { role: user.role } : null;
    },
  };
}

/** Counts a request against the limits of the session and of the person. @throws ServiceError RATE_LIMIT_EXCEEDED */
async function countOfSession(limiter: RateLimiter, ctx: ApiContext, session: LoginSessionDocument): Promise<void> {
  const ofPerson = SESSION_REQUESTS_PER_MINUTE * SESSIONS_WORTH_OF_REQUESTS;
  const counting = limiter.count(ctx, [
    { key: `session:${session._id}`, requestsPerMinute: SESSION_REQUESTS_PER_MINUTE, hasHeaders: true },
    { key: `sessions:${session.userId}`, requestsPerMinute: ofPerson },
  ]);
  if (counting !== undefined) await withDeadline(deadlineOf(ctx), counting);
}

/**
 * The `mode` query parameter of a management API request.
 * @throws ServiceError MISSING_PARAMS
 */
export function askedMode(ctx: ApiContext): Mode | undefined {
  const values = new URLSearchParams(ctx.querystring).getAll('mode');
  return validated(ModeQuery, values.length === 0 ? {} : { mode: values.length > 1 ? values : values[0] }).mode;
}

/** Returns the API key in the Authorization header; undefined if there is no such header, or more than one. */
export function keyOf(ctx: ApiContext, basicToo: boolean): string | undefined {
  const headers = ctx.req.headersDistinct['authorization'];
  if (headers?.length !== 1) return undefined;
  const [, scheme = '', credentials = ''] = /^([A-Za-z]+) +(\S+)$/.exec(headers[0] ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') return credentials;
  if (!basicToo || scheme.toLowerCase() !== 'basic') return undefined;
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(credentials, 'base64').toString('utf8')) ?? [];
  return password;
}

/** Sets the WWW-Authenticate header and returns the error to throw. */
export function unauthorized(ctx: ApiContext, challenges: string[]): ServiceError {
  ctx.set('WWW-Authenticate', challenges);
  return new ServiceError(
    'UNAUTHORIZED',
    'The API key is missing, invalid, revoked or expired. Send a valid key as Authorization: Bearer <key>.',
  );
}
