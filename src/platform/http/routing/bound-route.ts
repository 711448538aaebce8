import type { Route } from '../contract/route.js';
import type { Handlers, Principals } from './handlers.js';

/** A route with its handler; `bindRoutes` checks their types. */
export interface BoundRoute {
  /** Operation id. */
  id: string;
  route: Route;
  handle: (request: object) => unknown;
}

/** Binds each route of a table to its handler. */
export function bindRoutes<const Table extends Readonly<Record<string, Route>>, P extends Principals = object>(
  table: Table,
  handlers: Handlers<Table, P>,
): BoundRoute[] {
  return Object.entries<Route>(table).map(([id, route]) => ({
    id,
    route,
    handle: handlers[id] as BoundRoute['handle'],
  }));
}
