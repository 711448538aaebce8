import type { z } from 'zod';
import type { Role } from '../../../kernel/access.js';
import type { ErrorCode } from '../../../kernel/errors.js';

/**
 * Who may ask: `none` anyone; `key` a Bearer key; `keyOrSession` a Bearer key or a member's session of the portal;
 * `session` such a session alone; `origin` a page of our own origin, not logged in yet; `keyOrCarrier` a Bearer key, the
 * key as Basic password, or the carrier's signature; `carrier` the carrier's signature alone.
 */
export type RouteAuth = 'none' | 'key' | 'keyOrSession' | 'session' | 'origin' | 'keyOrCarrier' | 'carrier';

/**
 * What an operation changes, which decides whether a test key may use it:
 * - `mode`: things of the caller's mode, such as calls and API keys. Any key.
 * - `agent`: the agent that the path names. A test key changes test agents only.
 * - `account`: what live calls depend on, too, such as phone numbers. No test key.
 * - `self`: the caller's own session, password or membership.
 */
export type RouteChanges = 'mode' | 'agent' | 'account' | 'self';

/** What costs much: an account has a few of each in progress at once in each mode, and further ones wait. */
export type RouteLoad = 'detail' | 'list' | 'export' | 'recording';

type Examples = Readonly<Record<string, unknown>>;

/** What a contract says of one operation. */
export type Route = Operation &
  ({ method: 'get'; changes?: RouteChanges } | { method: 'post' | 'patch' | 'delete'; changes: RouteChanges });

interface Operation {
  /** With parameters in braces, as in the interface document. */
  path: string;
  tag: string;
  summary: string;
  description?: string;
  auth: RouteAuth;
  /** Which members may, where it is not that all read and all but viewers change. */
  roles?: readonly Role[];
  /** Only for members whose e-mail address is verified. */
  verified?: true;
  /** Requests of an account take turns; a list that is asked for as CSV counts as an export. */
  load?: RouteLoad;
  /** Not written to the audit log although it changes something. */
  unaudited?: true;
  /** How often it changes something is bounded by itself, and not by the changes of a day. */
  bounded?: true;
  /**
   * The handler reads query, headers and body by itself, because their meaning, or their signature, decides what is
   * checked first. What is declared here is then for the interface document.
   */
  readsItself?: true;
  params?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: {
    contentType: string;
    schema: z.ZodObject | z.ZodUnion;
    examples: Examples;
    /** The handler asks for the body after a check of its own, whose refusal goes before any fault of the body. */
    onDemand?: true;
  };
  success: {
    description: string;
    contentType: string;
    schema: z.ZodType;
    examples: Examples;
    /** Other forms of the same answer, by content type. */
    alternatives?: Readonly<Record<string, { schema: z.ZodType; examples: Examples }>>;
    headers?: Readonly<Record<string, string>>;
  };
  /** Codes of its own; those that every route of its kind may answer come with `auth`. */
  errors: readonly ErrorCode[];
}

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** `params` declares exactly the parameters that the path names. */
type WithParamsOf<Path extends string> = [NamesIn<Path>] extends [never]
  ? { params?: never }
  : { params: z.ZodObject<Record<NamesIn<Path>, z.ZodType<string>>> };

/** One operation of the interface. The router, validation, handlers, clients and the interface document derive from it. */
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

/** Every error code a route may answer with. */
export function errorCodesOf(route: Route): ErrorCode[] {
  const { auth, method, body, errors } = route;
  const own = auth === 'keyOrSession' || auth === 'session' || auth === 'origin';
  const ofBody: ErrorCode[] = own && body ? ['PAYLOAD_TOO_LARGE'] : [];
  const ofType: ErrorCode[] = own && (method === 'post' || method === 'patch') ? ['UNSUPPORTED_MEDIA_TYPE'] : [];
  return [...new Set([...errors, ...ofBody, ...ofType, ...COMMON_ERRORS[auth]])];
}

/** What an answer to the owner of a key says of its rate. */
export const rateLimitHeaders = {
  RateLimit: 'What is left of the API key’s requests and the seconds until they are full again.',
  'RateLimit-Policy': 'Requests the API key may make in a window of seconds.',
};

/** A JSON answer. */
export function jsonAnswer<T extends z.ZodType>(description: string, schema: T, examples: Examples) {
  return { description, contentType: 'application/json' as const, schema, examples };
}

/** A JSON answer to the owner of a key. */
export function ratedJsonAnswer<T extends z.ZodType>(description: string, schema: T, examples: Examples) {
  return { ...jsonAnswer(description, schema, examples), headers: rateLimitHeaders };
}
