import Router from '@koa/router';
import type { Route, RouteAuth } from '../platform/http/contract/route.js';
import { routes, type OperationId } from './routes.js';
import { ServiceError } from '../kernel/errors.js';
import type { Config } from '../platform/config/config.js';
import type { ApiContext, RequestState } from '../platform/http/context.js';
import type { Authenticator } from '../identity/access/authentication.js';
import { requireHttps } from '../platform/http/security.js';

type Params = Readonly<Record<string, string>>;

/** Handlers of the carrier's requests, which verify them. */
export interface CarrierHandlers {
  /** Find out themselves who asks: it takes the request's form to know. */
  keyOrCarrier: Record<OperationsWith<'keyOrCarrier'>, (ctx: ApiContext) => Promise<void>>;
  carrier: Record<OperationsWith<'carrier'>, (ctx: ApiContext, params: Params) => Promise<void>>;
}

type OperationsWith<Auth extends RouteAuth> = {
  [Id in OperationId]: (typeof routes)[Id]['auth'] extends Auth ? Id : never;
}[OperationId];

type ApiRouter = Router<RequestState>;

/** A router for each kind of authentication of carriers. */
export function createCarrierRouters(config: Config, handlers: CarrierHandlers): ApiRouter[] {
  const withKeyOrSignature = Object.entries(handlers.keyOrCarrier).map(([id, handler]) =>
    mounted(id, async (ctx) => {
      requireHttps(ctx, config);
      await handler(ctx);
    }),
  );
  // Signed over our https address: a request that came another way carries no signature that fits.
  const withSignature = Object.entries(handlers.carrier).map(([id, handler]) => mounted(id, handler));
  return [routerOf(withKeyOrSignature), routerOf(withSignature)];
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
