import type { Route } from '../../platform/http/contract/route.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Mode } from '../../kernel/ids.js';
import { mayUse } from '../../kernel/access.js';
import type { ApiContext } from '../../platform/http/context.js';
import {
  askedMode,
  BEARER_CHALLENGE,
  createIdentification,
  keyOf,
  unauthorized,
  type IdentificationDeps,
} from './identification.js';
import type { Forwarder, Principal } from './principal.js';
import { within } from '../../platform/http/deadline.js';
import { sessionTokenOf } from './session-cookie.js';
import type { ReadSigned, SignedRequests } from '../../platform/http/signed-requests.js';

const BASIC_CHALLENGE = 'Basic realm="callwright"';

/** One or two reads of the database. */
const RECHECK_WITHIN_MS = 1_500;

/** Reads a request and tells the mode whose carrier account made it; undefined when none did. */
export type VerifyCarrier = (read: ReadSigned) => Promise<Mode | undefined>;

export type Authenticator = ReturnType<typeof createAuthenticator>;

/** Finds out who asks, by API key or by the carrier's signature, and counts the requests of each key. */
export function createAuthenticator(deps: IdentificationDeps & { signedRequests: SignedRequests }) {
  const { config, signedRequests } = deps;
  const { principalOf, keyOwnerOf, memberOf, byMember, standingOf } = createIdentification(deps);

  return {
    /** What the principal of an earlier request is now. It counts neither as a request nor as a use. */
    standingOf,

    /**
     * Asks again whether a principal that was authenticated a while ago may do this.
     * @throws ServiceError UNAUTHORIZED, FORBIDDEN, SERVICE_UNAVAILABLE
     */
    async recheck(principal: Principal, route: Route): Promise<void> {
      // The body has used up the request's own deadline.
      const standing = await within(Date.now() + RECHECK_WITHIN_MS, standingOf(principal));
      if (standing === null) throw new ServiceError('UNAUTHORIZED', 'The key or session is not valid any more.');
      if (standing.role !== undefined && !mayUse(standing.role, route)) {
        throw new ServiceError('FORBIDDEN', `A ${standing.role} may not do this.`);
      }
    },

    /**
     * The owner of the Bearer key, which must allow the operation.
     * @throws ServiceError UNAUTHORIZED, RATE_LIMIT_EXCEEDED, FORBIDDEN
     */
    byKey: keyOwnerOf,

    /**
     * The owner of the Bearer key or, without one, the member of the session, whose role must allow the operation.
     * @throws ServiceError UNAUTHORIZED, RATE_LIMIT_EXCEEDED, FORBIDDEN also when another mode than the key's is named, or
     * a test key would change what live calls depend on
     */
    async byKeyOrSession(ctx: ApiContext, route: Route): Promise<Principal> {
      if (ctx.get('Authorization') === '' && sessionTokenOf(ctx, config) !== undefined) return byMember(ctx, route);
      const principal = await keyOwnerOf(ctx, route);
      const asked = askedMode(ctx);
      if (asked !== undefined && asked !== principal.mode) {
        throw new ServiceError('FORBIDDEN', `A ${principal.mode} key may not ask about ${asked} mode.`);
      }
      return principal;
    },

    /**
     * The member of the session, whose role must allow the operation.
     * @throws ServiceError UNAUTHORIZED, FORBIDDEN, UNSUPPORTED_MEDIA_TYPE, RATE_LIMIT_EXCEEDED
     */
    bySession: byMember,

    /** Whoever may ask anything here. @throws ServiceError UNAUTHORIZED, RATE_LIMIT_EXCEEDED */
    async byAny(ctx: ApiContext): Promise<void> {
      if (ctx.get('Authorization') === '' && sessionTokenOf(ctx, config) !== undefined) await memberOf(ctx);
      else await principalOf(ctx, keyOf(ctx, false), [BEARER_CHALLENGE]);
    },

    /**
     * The owner of the key, sent as Bearer or as the password of Basic, or the mode whose carrier made the request.
     * @param verifyCarrier absent when the request cannot be a carrier's
     * @throws ServiceError UNAUTHORIZED, RATE_LIMIT_EXCEEDED, SERVICE_UNAVAILABLE, or what `verifyCarrier` throws
     */
    async byKeyOrCarrier(ctx: ApiContext, verifyCarrier: VerifyCarrier | undefined): Promise<Forwarder> {
      const secret = keyOf(ctx, true);
      const challenges = [BEARER_CHALLENGE, BASIC_CHALLENGE];
      if (secret === undefined && verifyCarrier !== undefined) {
        const mode = await signedRequests.admit(ctx, async (read) => {
          const signer = await verifyCarrier(read);
          if (signer === undefined) throw unauthorized(ctx, challenges);
          return signer;
        });
        return { mode };
      }
      return principalOf(ctx, secret, challenges);
    },
  };
}
