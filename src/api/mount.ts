import { Readable } from 'node:stream';
import Router from '@koa/router';
import type { Route, RouteAuth, RouteLoad } from '../platform/http/contract/route.js';
import { ServiceError } from '../kernel/errors.js';
import { ERRORS } from '../platform/http/contract/errors.js';
import type { Mode } from '../kernel/ids.js';
import type { Config } from '../platform/config/config.js';
import type { ApiContext, RequestState } from '../platform/http/context.js';
import type { Principal } from '../identity/access/principal.js';
import type { Auditor } from '../identity/access/audit.js';
import type { ChangeQuota } from '../identity/access/change-quota.js';
import type { Authenticator } from '../identity/access/authentication.js';
import type { PrincipalWatch } from '../identity/access/principal-watch.js';
import { networksOf } from '../platform/egress/client-address.js';
import { createSenderQueue } from '../platform/http/sender-queue.js';
import { clientAddress, requireHttps } from '../platform/http/security.js';
import { requireOwnOrigin } from '../identity/access/session-cookie.js';
import type { BoundRoute } from '../platform/http/routing/bound-route.js';
import { sendResponse } from '../platform/http/routing/response.js';
import { wantsCsv } from '../platform/http/routing/csv-format.js';
import { createAccountQueues } from '../platform/http/routing/account-queues.js';
import { createWastedBodies, type CheckedBody, type WastedBodies } from '../platform/http/rate-limits/wasted-bodies.js';
import { createExportSteps } from '../platform/http/routing/export-steps.js';
import { readRequest } from '../platform/http/routing/request.js';

/** Maximum log-ins, sign-ups and other requests without a principal that the process handles at the same time. */
const MAX_SIGN_INS = 12;

export interface MountDeps {
  config: Config;
  authenticator: Authenticator;
  auditor: Auditor;
  changeQuota: ChangeQuota;
  principalWatch: PrincipalWatch;
}

/**
 * Authenticates a request, or throws. Returns undefined if the route needs no principal or its handler authenticates.
 */
type Authenticate = (ctx: ApiContext, route: Route) => Promise<Principal | undefined>;

function createAuthenticators({ config, authenticator }: MountDeps): Readonly<Record<RouteAuth, Authenticate>> {
  const overHttps =
    (authenticate: Authenticate): Authenticate =>
    async (ctx, route) => {
      requireHttps(ctx, config);
      const principal = await authenticate(ctx, route);
      if (principal) ctx.state.mode = principal.mode;
      return principal;
    };
  return {
    key: overHttps((ctx, route) => authenticator.byKey(ctx, route)),
    keyOrSession: overHttps((ctx, route) => authenticator.byKeyOrSession(ctx, route)),
    session: overHttps((ctx, route) => authenticator.bySession(ctx, route)),
    origin: overHttps(async (ctx) => {
      requireOwnOrigin(ctx, config);
      return undefined;
    }),
    // The handler authenticates, because the kind of request decides how.
    keyOrCarrier: overHttps(async () => undefined),
    // The carrier signs the https URL, so a request over another scheme has no valid signature.
    carrier: async () => undefined,
    none: async () => undefined,
  };
}

/**
 * Creates the router of all routes. For each request it checks in this order: HTTPS, authentication and permission,
 * rate limits, path, query, body and headers; then it runs the handler, sends the response and records a change in the
 * audit log.
 */
export function mount(bound: readonly BoundRoute[], deps: MountDeps): Router<RequestState> {
  const { config, authenticator, auditor, changeQuota, principalWatch } = deps;
  const authenticators = createAuthenticators(deps);
  const queues = createAccountQueues();
  const exportSteps = createExportSteps();
  const wasted = createWastedBodies();
  const signInQueue = createSenderQueue({ maxRunning: MAX_SIGN_INS });

  async function handleRequest(ctx: ApiContext, { id, route, handle }: BoundRoute): Promise<void> {
    const principal = await authenticators[route.auth](ctx, route);
    if (principal) {
      ctx.state.recheck = () => authenticator.recheck(principal, route);
      ctx.state.runQueued = (read) => queues.run(ctx, 'detail', principal, read);
      ctx.state.runStep = (signal, step) => exportSteps.run(principal, signal, step);
    }
    const checked = principal && checkedBody(ctx, principal, route, wasted);
    /** How to take the change off the count, and who makes it, once the handler has begun. */
    const change: { withdraw: () => void; by?: Principal | undefined } = { withdraw: () => undefined };
    try {
      const parts = await readRequest(ctx, route);
      const audited = isAudited(route, parts.body) ? principal : undefined;
      const work = async () => {
        if (audited) change.withdraw = await changeQuota.reserve(ctx, audited, route, changedMode(route, audited));
        change.by = audited;
        return handle({ ctx, ...(principal && { principal }), ...parts });
      };
      const result = await runQueued(ctx, route, principal, work);
      const sent = sendResponse(ctx, route, result, !config.production);
      if (principal && ctx.body instanceof Readable) principalWatch.guard(ctx, principal, route, ctx.body);
      if (sent.unchanged) {
        change.withdraw();
        // A small change of a large agent checks the whole agent.
        if (route.method === 'patch') await checked?.chargeMore(sent.checkedBytes ?? ctx.response.length ?? 0);
        return;
      }
      await checked?.refund();
      if (audited) await recordChange(auditor, ctx, audited, { id, route, target: sent.target });
    } catch (error) {
      if (change.by === undefined || ctx.state.isUnchanged || isOfSender(error)) {
        change.withdraw();
        if (!isOfSender(error)) await checked?.refund();
        throw error;
      }
      void recordChange(auditor, ctx, change.by, { id, route, unconfirmed: true });
      throw error;
    }
  }

  async function runQueued<T>(
    ctx: ApiContext,
    route: Route,
    principal: Principal | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    if (principal) return queues.run(ctx, loadOf(ctx, route), principal, work);
    return route.auth === 'origin' ? signInQueue.run(ctx, networksOf(clientAddress(ctx, config)), work) : work();
  }

  return createRouter(bound, handleRequest);
}

/** Small bodies are limited in changes of what exists only, so that calls can be placed and ended, and keys revoked. */
function checkedBody(
  { state }: ApiContext,
  { account, mode, sender }: Principal,
  { method, body, changes }: Route,
  wasted: WastedBodies,
): CheckedBody | undefined {
  if (body === undefined || changes === undefined) return undefined;
  const checked = wasted.of({ account: `${account._id} ${mode}`, sender, isSmallLimited: method === 'patch' });
  state.chargeBody = (bytes) => checked.charge(bytes);
  return checked;
}

/**
 * Records a change in the audit log. One that failed after it began is recorded, and counts, because its work may continue
 * after the deadline of the request.
 */
async function recordChange(
  auditor: Auditor,
  ctx: ApiContext,
  principal: Principal,
  p: Pick<BoundRoute, 'id' | 'route'> & { target?: string | undefined; unconfirmed?: boolean },
): Promise<void> {
  const { id, route, target, unconfirmed } = p;
  const { account, actor } = principal;
  const mode = changedMode(route, principal);
  const pathId = Object.values(ctx['params'] as Record<string, string>)[0];
  const facts = { accountId: account._id, mode, actor, action: id, target: pathId ?? target };
  // Changes that are not counted can be tried any number of times, so only the first try has an entry.
  const once = unconfirmed && route.bounded;
  await auditor(ctx, { ...facts, ...(unconfirmed && { unconfirmed }), ...(once && { once }) });
}

function createRouter(
  bound: readonly BoundRoute[],
  handleRequest: (ctx: ApiContext, bound: BoundRoute) => Promise<void>,
): Router<RequestState> {
  const router = new Router<RequestState>({ sensitive: true, strict: true });
  for (const each of bound) {
    const { route } = each;
    router.register(route.path.replace(/\{(\w+)\}/g, ':$1'), [route.method], async (ctx, next) => {
      // The router treats HEAD as GET, but a GET that can place a call must not be reachable by HEAD.
      if (ctx.method === 'HEAD' && route.auth !== 'none') return next();
      ctx.state.route = route.path;
      await handleRequest(ctx, each);
    });
  }
  return router;
}

/** Whether the audit log contains an entry for a request that changed something. */
function isAudited({ method, unaudited = false }: Route, body: object = {}): boolean {
  if (method === 'get') return false;
  return typeof unaudited === 'function' ? !unaudited(body) : !unaudited;
}

/** The load of a request: a list as CSV has no pages, so it counts as an export. */
function loadOf(ctx: ApiContext, { load, changes, success }: Route): RouteLoad {
  if (load === undefined) return changes === undefined ? 'read' : 'change';
  return success.alternatives?.['text/csv'] && wantsCsv(ctx) ? 'export' : load;
}

/** Whether a request failed because of its sender. */
const isOfSender = (error: unknown) => error instanceof ServiceError && ERRORS[error.code].status < 500;

/** The mode that a change affects. A change that may affect both modes counts as live. */
function changedMode({ changes }: Route, { mode, actor }: Principal): Mode {
  // A test key changes test agents only; a member may change live ones.
  return changes === 'mode' || (changes === 'agent' && actor.kind === 'key') ? mode : 'live';
}
