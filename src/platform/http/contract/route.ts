import type { z } from 'zod';
import type { Role } from '../../../kernel/access.js';
import type { ErrorCode } from '../../../kernel/errors.js';

/**
 * Required authentication: `none`; `key` a Bearer key; `keyOrSession` a Bearer key or a member's portal session;
 * `session` such a session only; `origin` a page of this service, without log-in; `keyOrCarrier` a Bearer key, the key
 * as Basic password, or the carrier's signature; `carrier` the carrier's signature only.
 */
export type RouteAuth = 'none' | 'key' | 'keyOrSession' | 'session' | 'origin' | 'keyOrCarrier' | 'carrier';

/**
 * The kind of object that a route changes. It decides whether a test key may use the route:
 * - `mode`: objects of the key's mode, such as calls and API keys. Any key may use the route.
 * - `agent`: the agent in the path. A test key may change test agents only.
 * - `account`: objects that live calls also depend on, such as phone numbers. A test key may not use the route.
 * - `self`: the member's own session, password or membership. Only portal sessions may use the route, no API key.
 */
export type RouteChanges = 'mode' | 'agent' | 'account' | 'self';

/** Kind of requests that a daily limit on new audit log entries counts. Calls with `drafts` of agents change no agent. */
export type CountedChange = 'changes' | 'drafts';

/** Kind of request: per account and mode, a few of each kind run at once, and further ones wait. */
export type RouteLoad = 'read' | 'change' | 'detail' | 'list' | 'export' | 'recording';

type Examples = Readonly<Record<string, unknown>>;

/** The contract of one route. */
export type Route = Operation &
  ({ method: 'get'; changes?: RouteChanges } | { method: 'post' | 'patch' | 'delete'; changes: RouteChanges });

interface Operation {
  /** The path with parameters in braces, as in the OpenAPI document. */
  path: string;
  tag: string;
  summary: string;
  description?: string;
  auth: RouteAuth;
  /** Members' roles that may use the route. By default all roles may read, and all except viewers may write. */
  roles?: readonly Role[];
  /** Only for members with a verified e-mail address. */
  verified?: true;
  /**
   * Kind of queue for the account's requests to this route. A list requested as CSV counts as `export`. Default:
   * `change` if the route changes something, otherwise `read`.
   */
  load?: RouteLoad;
  /**
   * Whether the audit log contains no entry for a request, although it changes something. A function decides by the
   * validated body, for routes whose handler does not read it.
   */
  unaudited?: boolean | ((body: object) => boolean);
  /** True if the route has a separate limit. Its requests then do not count towards the daily limit of changes. */
  bounded?: true;
  /** The daily limit of this route's audited requests. Default: `changes`. */
  counts?: CountedChange;
  /**
   * True if the handler reads query, headers and body, because their meaning or signature decides what is checked
   * first. The schemas then only document the route.
   */
  readsItself?: true;
  params?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: {
    contentType: string;
    schema: z.ZodObject | z.ZodUnion;
    examples: Examples;
    /**
     * True if the handler reads the body after a check. The error of that check then takes precedence over validation
     * errors.
     */
    onDemand?: true;
  };
  success: {
    description: string;
    contentType: string;
    schema: z.ZodType;
    examples: Examples;
    /** Other representations of the response, by content type. */
    alternatives?: Readonly<Record<string, { schema: z.ZodType; examples: Examples }>>;
    headers?: Readonly<Record<string, string>>;
    /** True if a Range header is answered with a part of the content and status 206. */
    mayBePartial?: true;
  };
  /** Error codes of this route only. `errorCodesOf` adds the common ones. */
  errors: readonly ErrorCode[];
}

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** Requires `params` to declare exactly the parameters of the path. */
type WithParamsOf<Path extends string> = [NamesIn<Path>] extends [never]
  ? { params?: never }
  : { params: z.ZodObject<Record<NamesIn<Path>, z.ZodType<string>>> };

/** Defines one route. The router, validation, handlers, clients and the OpenAPI document derive from it. */
export function defineRoute<const R extends Route>(route: R & WithParamsOf<R['path']>): R {
  return route;
}

const MEMBER_ERRORS: readonly ErrorCode[] = [
  'MISSING_PARAMS',
  'HTTPS_REQUIRED',
  'FORBIDDEN',
  'UNAUTHORIZED',
  'RATE_LIMIT_EXCEEDED',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
];

const COMMON_ERRORS: Readonly<Record<RouteAuth, readonly ErrorCode[]>> = {
  none: ['INTERNAL_ERROR'],
  key: ['HTTPS_REQUIRED', 'UNAUTHORIZED', 'RATE_LIMIT_EXCEEDED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'],
  keyOrCarrier: ['HTTPS_REQUIRED', 'UNAUTHORIZED', 'RATE_LIMIT_EXCEEDED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'],
  keyOrSession: MEMBER_ERRORS,
  session: MEMBER_ERRORS,
  origin: [
    'MISSING_PARAMS',
    'HTTPS_REQUIRED',
    'FORBIDDEN',
    'RATE_LIMIT_EXCEEDED',
    'INTERNAL_ERROR',
    'SERVICE_UNAVAILABLE',
  ],
  carrier: [
    'MISSING_PARAMS',
    'FORBIDDEN',
    'PAYLOAD_TOO_LARGE',
    'UNSUPPORTED_MEDIA_TYPE',
    'RATE_LIMIT_EXCEEDED',
    'INTERNAL_ERROR',
    'SERVICE_UNAVAILABLE',
  ],
};

/** Every error code that a route may respond with. */
export function errorCodesOf(route: Route): ErrorCode[] {
  const { auth, method, body, errors } = route;
  const own = auth === 'keyOrSession' || auth === 'session' || auth === 'origin';
  const ofBody: ErrorCode[] = own && body ? ['PAYLOAD_TOO_LARGE'] : [];
  const ofType: ErrorCode[] = own && (method === 'post' || method === 'patch') ? ['UNSUPPORTED_MEDIA_TYPE'] : [];
  return [...new Set([...errors, ...ofBody, ...ofType, ...COMMON_ERRORS[auth]])];
}

/** Rate limit headers of responses to API keys. */
export const rateLimitHeaders = {
  RateLimit: 'Remaining requests of the API key and the seconds until the limit resets.',
  'RateLimit-Policy': 'Requests that the API key may make per window, in seconds.',
};

/** A JSON response. */
export function jsonResponse<T extends z.ZodType>(description: string, schema: T, examples: Examples) {
  return { description, contentType: 'application/json' as const, schema, examples };
}

/** A JSON response to an API key, with rate limit headers. */
export function ratedJsonResponse<T extends z.ZodType>(description: string, schema: T, examples: Examples) {
  return { ...jsonResponse(description, schema, examples), headers: rateLimitHeaders };
}
