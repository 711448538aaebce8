import { Readable } from 'node:stream';
import Router from '@koa/router';
import type { Route, RouteAuth, RouteLoad } from '../platform/http/contract/route.js';
import type { Mode } from '../kernel/ids.js';
import type { Config } from '../platform/config/config.js';
import type { ApiContext, RequestState } from '../platform/http/context.js';
import type { Principal } from '../identity/access/principal.js';
import type { Auditor } from '../identity/access/audit.js';
import type { ChangeQuota } from '../identity/access/change-quota.js';
import type { Authenticator } from '../identity/access/authentication.js';
import type { PrincipalWatch } from '../identity/access/principal-watch.js';
import { requireHttps } from '../platform/http/security.js';
import { requireOwnOrigin } from '../identity/access/session-cookie.js';
import type { BoundRoute } from '../platform/http/routing/bound-route.js';
import { sendAnswer } from '../platform/http/routing/answer.js';
import { wantsCsv } from '../platform/http/routing/csv-wanted.js';
import { createAccountTurns } from '../platform/http/routing/account-turns.js';
import { readRequest } from '../platform/http/routing/request.js';

export interface MountDeps {
  config: Config;
  authenticator: Authenticator;
  auditor: Auditor;
  changeQuota: ChangeQuota;
  principalWatch: PrincipalWatch;
}

/** Authenticates a request, or throws. Undefined: the route needs no principal, or its handler authenticates. */
type Door = (ctx: ApiContext, route: Route) => Promise<Principal | undefined>;

function createDoors({ config, authenticator }: MountDeps): Readonly<Record<RouteAuth, Door>> {
  const overHttps =
    (door: Door): Door =>
    async (ctx, route) => {
      requireHttps(ctx, config);
      return door(ctx, route);
    };
  return {
    key: overHttps((ctx, route) => authenticator.byKey(ctx, route)),
    keyOrSession: overHttps((ctx, route) => authenticator.byKeyOrSession(ctx, route)),
    session: overHttps((ctx, route) => authenticator.bySession(ctx, route)),
    origin: overHttps(async (ctx) => {
      requireOwnOrigin(ctx, config);
      return undefined;
    }),
    // The handler authenticates, because that depends on the form of the request.
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
  const doors = createDoors(deps);
  const turns = createAccountTurns();

  async function serve(ctx: ApiContext, { id, route, handle }: BoundRoute): Promise<void> {
    const principal = await doors[route.auth](ctx, route);
    if (principal) {
      ctx.state.recheck = () => authenticator.recheck(principal, route);
      ctx.state.inTurn = (read) => turns.take(ctx, 'detail', principal, read);
    }
    const audited = principal && route.method !== 'get' && !route.unaudited ? principal : undefined;
    if (audited) await changeQuota.admit(ctx, audited, route, changedMode(route, audited));
    const parts = await readRequest(ctx, route);
    const work = async () => handle({ ctx, ...(principal && { principal }), ...parts });
    const given =
      route.load && principal ? await turns.take(ctx, loadOf(ctx, route, route.load), principal, work) : await work();
    const change = sendAnswer(ctx, route, given, !config.production);
    if (principal && ctx.body instanceof Readable) principalWatch.guard(ctx, principal, route, ctx.body);
    if (audited && !change.unchanged) await note(ctx, audited, { id, route, target: change.target });
  }

  async function note(
    ctx: ApiContext,
    principal: Principal,
    { id, route, target }: Pick<BoundRoute, 'id' | 'route'> & { target: string | undefined },
  ): Promise<void> {
    const { account, actor } = principal;
    const mode = changedMode(route, principal);
    const named = Object.values(ctx['params'] as Record<string, string>)[0];
    await changeQuota.count(principal, route, mode);
    await auditor(ctx, { accountId: account._id, mode, actor, action: id, target: named ?? target });
  }

  const router = new Router<RequestState>({ sensitive: true, strict: true });
  for (const each of bound) {
    const { route } = each;
    router.register(route.path.replace(/\{(\w+)\}/g, ':$1'), [route.method], async (ctx, next) => {
      // The router treats HEAD as GET, but a GET that can place a call must not be reachable by HEAD.
      if (ctx.method === 'HEAD' && route.auth !== 'none') return next();
      ctx.state.route = route.path;
      await serve(ctx, each);
    });
  }
  return router;
}

/** The load of a request: a list as CSV has no pages, so it counts as an export. */
function loadOf(ctx: ApiContext, { success }: Route, load: RouteLoad): RouteLoad {
  return success.alternatives?.['text/csv'] && wantsCsv(ctx) ? 'export' : load;
}

/** The mode that a change affects; changes that may affect both modes count as live. */
function changedMode({ changes }: Route, { mode, actor }: Principal): Mode {
  // A test key changes test agents only; a member may change live ones.
  return changes === 'mode' || (changes === 'agent' && actor.kind === 'key') ? mode : 'live';
}
