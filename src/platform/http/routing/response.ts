import type { Readable } from 'node:stream';
import { ErrorObject } from '../contract/errors.js';
import type { Route } from '../contract/route.js';
import type { ApiContext } from '../context.js';
import { sendStaticFile, type StaticFile } from '../static-file.js';

interface ResponseOptions {
  /** HTTP status; 200 by default. */
  status?: number;
  headers?: Readonly<Record<string, string>>;
  /** Id of the changed object, for the audit log, if the path does not contain it. */
  target?: string;
  /** True if nothing had to change. Then the audit log contains no entry. */
  unchanged?: boolean;
  /** Size of the data that was checked, if it is larger than the request and the response. */
  checkedBytes?: number;
}

/** Audit information that a handler returns about a change, in addition to the response. */
export type Change = Pick<ResponseOptions, 'target' | 'unchanged' | 'checkedBytes'>;

/** A JSON body with a status, headers or audit information. */
export class JsonResponse<Body> {
  constructor(
    readonly body: Body | ErrorObject,
    readonly options: ResponseOptions,
  ) {}
}

/** A body: a text, a stream, or a static file. */
export type Piece = string | Readable | StaticFile;

interface ContentOptions {
  /** HTTP status; 200 by default. */
  status?: 200 | 206;
  headers?: Readonly<Record<string, string>>;
  /** Bytes of the body, if known for a stream. */
  length?: number;
}

/** A body of another content type than JSON. */
export class Content<Type extends string, Body extends Piece> {
  constructor(
    readonly type: Type,
    readonly body: Body,
    readonly options: ContentOptions,
  ) {}
}

/** Builds a JSON response. @param body the success body, or an error object with its status in the options */
export function respond<Body>(body: Body | ErrorObject, options: ResponseOptions): JsonResponse<Body> {
  return new JsonResponse(body, options);
}

/** Builds a response of another type. */
export function content<const Type extends string, Body extends Piece>(
  type: Type,
  body: Body,
  options: ContentOptions = {},
): Content<Type, Body> {
  return new Content(type, body, options);
}

/**
 * Sends what a handler returned.
 * @param checked whether to validate the body against the contract first
 * @returns what the handler reports about the change
 * @throws Error if a checked body does not match the contract
 */
export function sendResponse(ctx: ApiContext, route: Route, given: unknown, checked: boolean): Change {
  if (given instanceof Content) {
    sendContent(ctx, given as Content<string, Piece>);
    return {};
  }
  const { body, options } = given instanceof JsonResponse ? given : { body: given, options: {} as ResponseOptions };
  if (checked) requireDeclared(route, body, options.status);
  ctx.set(options.headers ?? {});
  ctx.status = options.status ?? 200;
  const { contentType } = route.success;
  if (contentType !== 'application/json') ctx.set('Content-Type', `${contentType}; charset=utf-8`);
  ctx.body = body;
  return options;
}

function sendContent(ctx: ApiContext, { type, body, options }: Content<string, Piece>): void {
  ctx.set(options.headers ?? {});
  if (typeof body === 'object' && 'gzipped' in body) return sendStaticFile(ctx, body);
  ctx.status = options.status ?? 200;
  ctx.set('Content-Type', type);
  if (options.length !== undefined) ctx.length = options.length;
  ctx.body = body;
}

function requireDeclared(route: Route, body: unknown, status = 200): void {
  const schema = status === 200 ? route.success.schema : ErrorObject;
  const result = schema.safeParse(body);
  if (result.success) return;
  // Include only paths and codes, because the messages may contain the data.
  const faults = result.error.issues.map(({ path, code }) => `${path.join('.')} (${code})`).join(', ');
  throw new Error(`The response of ${route.method} ${route.path} does not match its contract: ${faults}`);
}
