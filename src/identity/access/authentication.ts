import type { Route } from '../../platform/http/contract/route.js';
import { roleNotPermitted } from '../../kernel/common-errors.js';
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
import { withDeadline } from '../../platform/http/deadline.js';
import { sessionTokenOf } from './session-cookie.js';
import type { ReadSigned, SignedRequests } from '../../platform/http/signed-requests.js';

const BASIC_CHALLENGE = 'Basic realm="callwright"';

/** Timeout of checking a principal again: enough for one or two database reads. */
const RECHECK_TIMEOUT_MS = 1_500;

/**
 * Verifies the carrier's signature. Returns the carrier account that sent the request, or undefined.
 * `sender`: absent if the account shares the process with no others. `groups`: those that share the turns of the account
 */
export type VerifyCarrier = (
  read: ReadSigned,
) => Promise<{ mode: Mode; sender?: string | undefined; groups?: readonly string[] } | undefined>;

type CarrierSender = NonNullable<Awaited<ReturnType<VerifyCarrier>>>;

export type Authenticator = ReturnType<typeof createAuthenticator>;

/** Authenticates requests by API key, session or carrier signature, and counts the requests of each key. */
export function createAuthenticator(deps: IdentificationDeps & { signedRequests: SignedRequests }) {
  const { config, signedRequests } = deps;
  const { principalOf, keyOwnerOf, memberOf, byMember, readCurrentAccess } = createIdentification(deps);

  return {
    /**
     * Returns the current rights of the principal of an earlier request. Counts neither as a request nor as a use of
     * the key.
     */
    readCurrentAccess,

    /**
     * Checks again whether a principal that was authenticated a while ago may use the route.
     * @throws ServiceError UNAUTHORIZED, FORBIDDEN, SERVICE_UNAVAILABLE
     */
    async recheck(principal: Principal, route: Route): Promise<void> {
      // Use a separate deadline, because receiving the body may have used up that of the request.
      const access = await withDeadline(Date.now() + RECHECK_TIMEOUT_MS, readCurrentAccess(principal));
      if (access === null)
        throw new ServiceError(
          'UNAUTHORIZED',
          'The API key or login session is no longer valid. Use another key, or log in again.',
        );
      if (access.role !== undefined && !mayUse(access.role, route)) {
        throw roleNotPermitted(access.role);
      }
    },

    /**
     * Authenticates by the Bearer key. The key must permit the route.
     * @throws ServiceError UNAUTHORIZED, RATE_LIMIT_EXCEEDED, FORBIDDEN
     */
    byKey: keyOwnerOf,

    /**
     * Authenticates by the Bearer key or, without one, by the session. A member's role must permit the route.
     * @throws ServiceError UNAUTHORIZED; RATE_LIMIT_EXCEEDED; FORBIDDEN, also if the request names another mode than
     * the key's, or a test key would change objects that live calls depend on
     */
    async byKeyOrSession(ctx: ApiContext, route: Route): Promise<Principal> {
      if (ctx.get('Authorization') === '' && sessionTokenOf(ctx, config) !== undefined) return byMember(ctx, route);
      const principal = await keyOwnerOf(ctx, route);
      const asked = askedMode(ctx);
      if (asked !== undefined && asked !== principal.mode) {
        throw new ServiceError('FORBIDDEN', `mode must be ${principal.mode}, the mode of the API key, not ${asked}.`);
      }
      return principal;
    },

    /**
     * Authenticates by the session. The member's role must permit the route.
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
        const verify = async (read: ReadSigned) => {
          const signer = await verifyCarrier(read);
          if (signer === undefined) throw unauthorized(ctx, challenges);
          return signer;
        };
        const sharing = {
          senderOf: ({ sender }: CarrierSender) => sender,
          groupsOf: ({ groups = [] }: CarrierSender) => groups,
        };
        const { mode } = await signedRequests.admit(ctx, verify, sharing);
        return { mode };
      }
      return principalOf(ctx, secret, challenges);
    },
  };
}
