import type { Route } from '../platform/http/contract/route.js';

/** The routes that a carrier calls, which it adds to the HTTP API. */
export interface CarrierApiContract {
  /** The webhooks of incoming calls, which clients may forward. */
  inbound: Readonly<Record<string, Route>>;
  /** Requests and status callbacks for calls that the carrier has. */
  callbacks: Readonly<Record<string, Route>>;
  /** How the carrier authenticates its requests, by the name of the security scheme in the OpenAPI document. */
  securitySchemes: Readonly<Record<string, SecurityScheme>>;
}

/** A security scheme of an OpenAPI document. */
export interface SecurityScheme {
  type: 'apiKey';
  in: 'header' | 'query';
  name: string;
  description: string;
}
