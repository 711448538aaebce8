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

/** Enough for one or two database reads. */
const RECHECK_WITHIN_MS = 1_500;

/** Verifies the carrier's signature. Returns the mode of the carrier account that sent the request, or undefined. */
export type VerifyCarrier = (read: ReadSigned) => Promise<Mode | undefined>;

export type Authenticator = ReturnType<typeof createAuthenticator>;

/** Authenticates requests by API key, session or carrier signature, and counts the requests of each key. */
export function createAuthenticator(deps: IdentificationDeps & { signedRequests: SignedRequests }) {
  const { config, signedRequests } = deps;
  const { principalOf, keyOwnerOf, memberOf, byMember, standingOf } = createIdentification(deps);

  return {
    /** The current standing of an earlier request's principal. Counts neither as a request nor as a use. */
    standingOf,

    /**
     * Checks again whether a principal that was authenticated a while ago may use the route.
     * @throws ServiceError UNAUTHORIZED, FORBIDDEN, SERVICE_UNAVAILABLE
     */
    async recheck(principal: Principal, route: Route): Promise<void> {
      // Receiving the body may have used up the request's own deadline.
      const standing = await within(Date.now() + RECHECK_WITHIN_MS, standingOf(principal));
      if (standing === null) throw new ServiceError('UNAUTHORIZED', 'The key or session is not valid any more.');
      if (standing.role !== undefined && !mayUse(standing.role, route)) {
        throw new ServiceError('FORBIDDEN', `A ${standing.role} may not do this.`);
      }
    },

    /**
     * Authenticates by the Bearer key, which must permit the route.
     * @throws ServiceError UNAUTHORIZED, RATE_LIMIT_EXCEEDED, FORBIDDEN
     */
    byKey: keyOwnerOf,

    /**
     * Authenticates by the Bearer key or, without one, by the session, whose member's role must permit the route.
     * @throws ServiceError UNAUTHORIZED, RATE_LIMIT_EXCEEDED, FORBIDDEN also if another mode than the key's is
     *   requested, or a test key would change what live calls depend on
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
     * Authenticates by the session, whose member's role must permit the route.
     * @throws ServiceError UNAUTHORIZED, FORBIDDEN, UNSUPPORTED_MEDIA_TYPE, RATE_LIMIT_EXCEEDED
     */
    bySession: byMember,

    /** Requires any valid key or session. @throws ServiceError UNAUTHORIZED, RATE_LIMIT_EXCEEDED */
    async byAny(ctx: ApiContext): Promise<void> {
      if (ctx.get('Authorization') === '' && sessionTokenOf(ctx, config) !== undefined) await memberOf(ctx);
      else await principalOf(ctx, keyOf(ctx, false), [BEARER_CHALLENGE]);
    },

    /**
     * Authenticates by the key, as Bearer token or Basic password, or by the carrier's signature.
     * @param verifyCarrier absent if the request cannot come from a carrier
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
