import type { Route } from '../platform/http/contract/route.js';
import { routes } from './routes.js';
import { noSuchEndpoint } from '../kernel/common-errors.js';
import { ServiceError } from '../kernel/errors.js';
import type { BoundRoute } from '../platform/http/routing/bound-route.js';
import type { Config } from '../platform/config/config.js';
import type { ApiContext } from '../platform/http/context.js';
import type { Authenticator } from '../identity/access/authentication.js';
import { requireHttps } from '../platform/http/security.js';

const TABLE: readonly Route[] = Object.values(routes);

/**
 * Handles requests that match no route: an unknown path, or a known path with a wrong method. Unauthenticated clients
 * receive the same error for both, unless the path needs no authentication.
 * @throws ServiceError METHOD_NOT_ALLOWED, NOT_FOUND
 */
export function handleUnmatched(deps: {
  config: Config;
  authenticator: Authenticator;
  /** Mounted routes that are not in the public table. */
  others: readonly BoundRoute[];
}) {
  const table = [...new Set([...TABLE, ...deps.others.map(({ route }) => route)])].map((route) => ({
    route,
    pattern: patternOf(route),
  }));
  return async (ctx: ApiContext): Promise<void> => {
    const known = table.filter(({ pattern }) => pattern.test(ctx.path)).map(({ route }) => route);
    if (!known.some((route) => route.auth === 'none' || route.auth === 'origin')) {
      requireHttps(ctx, deps.config);
      await deps.authenticator.byAny(ctx);
    }
    if (known.length === 0) throw noSuchEndpoint();
    const allowed = known.flatMap((route) =>
      route.method === 'get' && route.auth === 'none' ? ['GET', 'HEAD'] : [route.method.toUpperCase()],
    );
    ctx.set('Allow', allowed.toSorted().join(', '));
    throw new ServiceError('METHOD_NOT_ALLOWED', `This path supports ${allowed.join(' and ')}.`);
  };
}

function patternOf(route: Route): RegExp {
  return new RegExp(`^${route.path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`);
}
