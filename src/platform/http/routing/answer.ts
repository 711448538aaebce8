import type { Readable } from 'node:stream';
import { ErrorObject } from '../contract/errors.js';
import type { Route } from '../contract/route.js';
import type { ApiContext } from '../context.js';
import { sendStaticFile, type StaticFile } from '../static-file.js';

interface AnswerOptions {
  /** 200 unless given. */
  status?: number;
  headers?: Readonly<Record<string, string>>;
  /** What was changed, for the audit log, where the path does not name it. */
  target?: string;
  /** Everything was as asked for already: the audit log gets no entry. */
  unchanged?: boolean;
}

/** What a handler says of a change beside its answer. */
export type Change = Pick<AnswerOptions, 'target' | 'unchanged'>;

/** A JSON body with more to say than the body alone. */
export class Answer<Body> {
  constructor(
    readonly body: Body | ErrorObject,
    readonly options: AnswerOptions,
  ) {}
}

/** What content may consist of: one piece, a stream, or a file that does not change. */
export type Piece = string | Readable | StaticFile;

/** A body of another content type. */
export class Content<Type extends string, Body extends Piece> {
  constructor(
    readonly type: Type,
    readonly body: Body,
    readonly options: { headers?: Readonly<Record<string, string>>; length?: number },
  ) {}
}

/** @param body of the success, or an error object together with its status */
export function answer<Body>(body: Body | ErrorObject, options: AnswerOptions): Answer<Body> {
  return new Answer(body, options);
}

/** @param options.length bytes of the body, where a stream's are known */
export function content<const Type extends string, Body extends Piece>(
  type: Type,
  body: Body,
  options: { headers?: Readonly<Record<string, string>>; length?: number } = {},
): Content<Type, Body> {
  return new Content(type, body, options);
}

/**
 * Sends what a handler returned.
 * @param checked whether the body is held against the contract first
 * @returns what the handler says of the change
 * @throws Error when a checked body is not what the contract says
 */
export function sendAnswer(ctx: ApiContext, route: Route, given: unknown, checked: boolean): Change {
  if (given instanceof Content) {
    sendContent(ctx, given as Content<string, Piece>);
    return {};
  }
  const { body, options } = given instanceof Answer ? given : { body: given, options: {} as AnswerOptions };
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
  ctx.status = 200;
  ctx.set('Content-Type', type);
  if (options.length !== undefined) ctx.length = options.length;
  ctx.body = body;
}

function requireDeclared(route: Route, body: unknown, status = 200): void {
  const schema = status === 200 ? route.success.schema : ErrorObject;
  const result = schema.safeParse(body);
  if (result.success) return;
  // Paths and codes only: messages may repeat what was given.
  const faults = result.error.issues.map(({ path, code }) => `${path.join('.')} (${code})`).join(', ');
  throw new Error(`The answer to ${route.method} ${route.path} is not what its contract says: ${faults}`);
}
