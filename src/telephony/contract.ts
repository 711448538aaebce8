import type { Route } from '../platform/http/contract/route.js';
import type { SecurityScheme } from './carrier-api-contract.js';
import { CARRIER_APIS } from './carrier-apis-contract.js';

type Api = (typeof CARRIER_APIS)[number];
/** The intersection of the members of a union. */
type Together<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer All) => void ? All : never;

export const carrierInboundRoutes = Object.assign({}, ...CARRIER_APIS.map(({ inbound }) => inbound)) as Together<
  Api['inbound']
>;

export const carrierCallbackRoutes = Object.assign({}, ...CARRIER_APIS.map(({ callbacks }) => callbacks)) as Together<
  Api['callbacks']
>;

export const carrierSecuritySchemes: Readonly<Record<string, SecurityScheme>> = Object.assign(
  {},
  ...CARRIER_APIS.map(({ securitySchemes }) => securitySchemes),
);

/** Returns the names of the security schemes with which a carrier calls a route; empty if no carrier calls it. */
export function carrierSecurityOf(route: Route): string[] {
  return CARRIER_APIS.flatMap(({ inbound, callbacks, securitySchemes }) =>
    Object.values<Route>({ ...inbound, ...callbacks }).includes(route) ? Object.keys(securitySchemes) : [],
  );
}
