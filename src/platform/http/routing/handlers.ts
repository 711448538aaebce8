import type { z } from 'zod';
import type { Route, RouteAuth } from '../contract/route.js';
import type { ApiContext } from '../context.js';
import type { StaticFile } from '../static-file.js';
import type { JsonResponse, Content, Piece } from './response.js';

/** The principal that a handler receives, by the route's `auth`. */
export type Principals = { readonly [Auth in RouteAuth]?: unknown };

type PrincipalOf<R extends Route, P extends Principals> = R['auth'] extends keyof P
  ? { principal: P[R['auth']] }
  : unknown;

type ParamsOf<R> = R extends { params: infer S extends z.ZodType } ? { params: z.output<S> } : unknown;

type InputOf<R> = R extends { readsItself: true }
  ? unknown
  : (R extends { query: infer S extends z.ZodType } ? { query: z.output<S> } : unknown) &
      (R extends { headers: infer S extends z.ZodType } ? { headers: z.output<S> } : unknown) &
      (R extends { body: infer B extends { schema: z.ZodType } }
        ? B extends { onDemand: true }
          ? { readBody: () => Promise<z.output<B['schema']>> }
          : { body: z.output<B['schema']> }
        : unknown);

/**
 * A handler's argument: the parts of the request that its contract declares, validated. Handlers use `ctx` for
 * deadlines, limits and cookies, and return the response instead of writing to `ctx`.
 */
type HandlerRequest<R extends Route, P extends Principals = object> = { ctx: ApiContext } & PrincipalOf<R, P> &
  ParamsOf<R> &
  InputOf<R>;

type ContentTypes<R extends Route> = Extract<
  R['success']['contentType'] | (R['success'] extends { alternatives: infer Others } ? keyof Others : never),
  string
>;

/** JSON content must be a static file; other JSON bodies are returned as objects. */
type ContentOf<Type extends string> =
  | ('application/json' extends Type ? Content<'application/json', StaticFile> : never)
  | OtherContentOf<Exclude<Type, 'application/json'>>;
type OtherContentOf<Type extends string> = [Type] extends [never] ? never : Content<Type | `${Type};${string}`, Piece>;

/** A handler's result: JSON that matches the contract, a text, or content of a type that the contract declares. */
type HandlerResponse<R extends Route> =
  | (R['success']['contentType'] extends 'application/json'
      ? z.output<R['success']['schema']> | JsonResponse<z.output<R['success']['schema']>>
      : R['success']['contentType'] extends 'text/xml' | 'text/plain'
        ? string
        : never)
  | ContentOf<ContentTypes<R>>;

type Handler<R extends Route, P extends Principals = object> = (
  request: HandlerRequest<R, P>,
) => HandlerResponse<R> | Promise<HandlerResponse<R>>;

/** One handler per route of a table. A missing handler, or one without a route, does not compile. */
export type Handlers<Table extends Readonly<Record<string, Route>>, P extends Principals = object> = {
  [Id in keyof Table]: Handler<Table[Id], P>;
};
