import { Readable } from 'node:stream';
import Router from '@koa/router';
import type { Route, RouteAuth } from '../platform/http/contract/route.js';
import { routes, type OperationId as AnyOperation } from './routes.js';
import type { Mounted as MountedIds } from './mounted.js';
import { ServiceError } from '../kernel/errors.js';
import type { Mode } from '../kernel/ids.js';
import type { Config } from '../platform/config/config.js';
import type { ApiContext, RequestState } from '../platform/http/context.js';
import type { Principal } from '../identity/access/principal.js';
import type { Auditor } from '../identity/access/audit.js';
import type { Authenticator } from '../identity/access/authentication.js';
import type { PrincipalWatch } from '../identity/access/principal-watch.js';
import { requireHttps } from '../platform/http/security.js';

type OperationId = Exclude<AnyOperation, MountedIds>;
type Params = Readonly<Record<string, string>>;

/** UnmountedHandlers by what stands before them; together they are one for every declared operation. */
export interface UnmountedHandlers {
  /** Run for the owner of a valid key whose rate allows it. */
  key: Record<OperationsWith<'key'>, (ctx: ApiContext, principal: Principal, params: Params) => Promise<void>>;
  /** Run for the owner of a valid key, or a member whose role allows it. */
  keyOrSession: Record<
    OperationsWith<'keyOrSession'>,
    (ctx: ApiContext, principal: Principal, params: Params) => Promise<void>
  >;
  /** Find out themselves who asks: it takes the request's form to know. */
  keyOrCarrier: Record<OperationsWith<'keyOrCarrier'>, (ctx: ApiContext) => Promise<void>>;
  carrier: Record<OperationsWith<'carrier'>, (ctx: ApiContext, params: Params) => Promise<void>>;
  none: Record<OperationsWith<'none'>, (ctx: ApiContext, params: Params) => Promise<void> | void>;
}

type OperationsWith<Auth extends RouteAuth> = {
  [Id in OperationId]: (typeof routes)[Id]['auth'] extends Auth ? Id : never;
}[OperationId];

type ApiRouter = Router<RequestState>;

/** A router for each kind of authentication, made from the declared routes of that kind. */
export function createRouters(deps: {
  config: Config;
  authenticator: Authenticator;
  handlers: UnmountedHandlers;
  auditor: Auditor;
  principalWatch: PrincipalWatch;
}): ApiRouter[] {
  const { config, authenticator, handlers, auditor, principalWatch } = deps;

  async function audit(ctx: ApiContext, principal: Principal, id: OperationId, params: Params): Promise<void> {
    const route: Route = routes[id];
    if (route.method === 'get' || route.unaudited === true) return;
    const { account, actor } = principal;
    const mode = changedMode(route, principal);
    const target = Object.values(params)[0] ?? ctx.state.target;
    await auditor(ctx, { accountId: account._id, mode, actor, action: id, target });
  }

  /** Operations of which is kept who did them, wherever they change something. */
  function audited<P extends Principal>(
    operations: Record<string, (ctx: ApiContext, principal: P, params: Params) => Promise<void>>,
    authenticate: (ctx: ApiContext, route: Route) => Promise<P>,
  ): Mounted[] {
    return Object.entries(operations).map(([id, handler]) =>
      mounted(id, async (ctx, params) => {
        requireHttps(ctx, config);
        const route: Route = routes[id as OperationId];
        const principal = await authenticate(ctx, route);
        ctx.state.recheck = () => authenticator.recheck(principal, route);
        await handler(ctx, principal, params);
        if (ctx.body instanceof Readable) principalWatch.guard(ctx, principal, route, ctx.body);
        await audit(ctx, principal, id as OperationId, params);
      }),
    );
  }

  const withKey = Object.entries(handlers.key).map(([id, handler]) =>
    mounted(id, async (ctx, params) => {
      requireHttps(ctx, config);
      const route: Route = routes[id as OperationId];
      const principal = await authenticator.byKey(ctx, route);
      ctx.state.recheck = () => authenticator.recheck(principal, route);
      await handler(ctx, principal, params);
    }),
  );
  const withKeyOrSession = audited(handlers.keyOrSession, (ctx, route) => authenticator.byKeyOrSession(ctx, route));
  const withKeyOrSignature = Object.entries(handlers.keyOrCarrier).map(([id, handler]) =>
    mounted(id, async (ctx) => {
      requireHttps(ctx, config);
      await handler(ctx);
    }),
  );
  // Signed over our https address: a request that came another way carries no signature that fits.
  const withSignature = Object.entries(handlers.carrier).map(([id, handler]) => mounted(id, handler));
  const open = Object.entries(handlers.none).map(([id, handler]) => mounted(id, handler));
  return [
    routerOf([...withKey, ...withKeyOrSignature]),
    routerOf([...withKeyOrSession]),
    routerOf(withSignature),
    routerOf(open),
  ];
}

/** The mode in which an operation changes something; what may reach both counts as live. */
function changedMode({ changes }: Route, { mode, actor }: Principal): Mode {
  // A test key changes test agents only, and what a member changes may be a live one.
  return changes === 'mode' || (changes === 'agent' && actor.kind === 'key') ? mode : 'live';
}

interface Mounted {
  route: Route;
  handle: (ctx: ApiContext, params: Params) => Promise<void> | void;
}

function mounted(id: string, handle: Mounted['handle']): Mounted {
  return { route: routes[id as OperationId], handle };
}

function routerOf(operations: readonly Mounted[]): ApiRouter {
  const router: ApiRouter = new Router<RequestState>({ sensitive: true, strict: true });
  for (const { route, handle } of operations) {
    router.register(route.path.replace(/\{(\w+)\}/g, ':$1'), [route.method], async (ctx, next) => {
      // The router takes HEAD for GET; a GET that can place a call must not be reachable by it.
      if (ctx.method === 'HEAD' && route.auth !== 'none') return next();
      ctx.state.route = route.path;
      await handle(ctx, ctx.params as Params);
    });
  }
  return router;
}

const TABLE: readonly Route[] = Object.values(routes);

/**
 * What no route took: a wrong method of a known path, or a path that does not exist. Which of the two is told only to
 * those who may ask here at all.
 * @throws ServiceError METHOD_NOT_ALLOWED, NOT_FOUND
 */
export function unmatched(deps: { config: Config; authenticator: Authenticator }) {
  return async (ctx: ApiContext): Promise<void> => {
    const known = TABLE.filter((route) => patternOf(route).test(ctx.path));
    if (!known.some((route) => route.auth === 'none' || route.auth === 'origin')) {
      requireHttps(ctx, deps.config);
      await deps.authenticator.byAny(ctx);
    }
    if (known.length === 0) throw new ServiceError('NOT_FOUND', 'There is nothing at this path.');
    const allowed = known.flatMap((route) =>
      route.method === 'get' && route.auth === 'none' ? ['GET', 'HEAD'] : [route.method.toUpperCase()],
    );
    ctx.set('Allow', allowed.toSorted().join(', '));
    throw new ServiceError('METHOD_NOT_ALLOWED', `This path takes ${allowed.join(' and ')}.`);
  };
}

function patternOf(route: Route): RegExp {
  return new RegExp(`^${route.path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`);
}
