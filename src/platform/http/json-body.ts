import { MAX_JSON_DEPTH, MAX_JSON_MEMBERS } from './contract/fields.js';
import { scanJson, type JsonScan } from './contract/json-scan.js';
import { ServiceError } from '../../kernel/errors.js';
import { invalidBody, invalidParam } from '../../kernel/invalid-request.js';
import type { ApiContext } from './context.js';
import { contentTypeOf, readBody, utf8 } from './raw-body.js';

const MAX_BODY_BYTES = 256 * 1_024;
/** Maximum body without authentication, enough for a log-in or a sign-up. */
const MAX_UNAUTHENTICATED_BODY_BYTES = 16 * 1_024;

/** If a body takes longer than this, the sender's permission is checked again, because the delay may be on purpose. */
const SLOW_BODY_MS = 500;

export interface JsonBody {
  fields: Record<string, unknown>;
  /** Keys that occur more than once in the outermost object. */
  repeated: ReadonlySet<string>;
}

/**
 * Reads the JSON object of a request body. The body may be compressed if its sender is authenticated.
 * @throws ServiceError UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, MISSING_PARAMS; UNAUTHORIZED or FORBIDDEN if the
 * sender lost the permission while a slow body arrived; SERVICE_UNAVAILABLE if an unauthenticated body was aborted in
 * favor of another
 */
export async function readJsonBody(ctx: ApiContext): Promise<JsonBody> {
  const { type, charset } = contentTypeOf(ctx.req);
  if (type !== 'application/json') {
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', 'The Content-Type of the request body must be application/json.');
  }
  if (charset !== 'utf-8' && charset !== 'us-ascii') {
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', 'The charset of the request body must be utf-8.');
  }
  const isAuthenticated = ctx.state.isAuthenticated === true;
  const limit = isAuthenticated ? MAX_BODY_BYTES : MAX_UNAUTHENTICATED_BODY_BYTES;
  const startedAt = performance.now();
  const read = (signal?: AbortSignal) =>
    readBody(ctx.req, { limit, decompress: isAuthenticated, ...(signal && { signal }) });
  const bytes = await (isAuthenticated ? read() : ctx.state.readUnauthenticated(read));
  ctx.state.bodyAt = Date.now();
  if (performance.now() - startedAt > SLOW_BODY_MS) await ctx.state.recheck?.();
  await ctx.state.chargeBody?.(bytes.length);
  return parseJsonObject(utf8(bytes));
}

/**
 * Parses a text that must be a JSON object.
 * @throws ServiceError MISSING_PARAMS
 */
export function parseJsonObject(json: string): JsonBody {
  const scan = scanJson(json);
  assertJsonSize(scan);
  let fields: unknown;
  try {
    fields = JSON.parse(json);
  } catch {
    throw invalidBody('json_invalid', 'The request body is not valid JSON.');
  }
  if (!isObject(fields)) throw invalidBody('json_invalid', 'The request body must be a JSON object.');
  return { fields, repeated: scan.repeatedKeys };
}

/**
 * Checks the size of a JSON text.
 * @throws ServiceError MISSING_PARAMS if it is too deep or has too many members; the message names the largest field
 * and its limit
 */
function assertJsonSize({ depth, members, largest }: JsonScan): void {
  if (depth > MAX_JSON_DEPTH) {
    throw invalidParam('body', `The JSON must not be nested deeper than ${MAX_JSON_DEPTH} levels.`);
  }
  const { ofOne, ofAll } = MAX_JSON_MEMBERS;
  const { field = '' } = largest;
  // The field name comes from the sender, so include it in the message only if it is a plain word.
  const isReadable = /^\w{1,64}$/.test(field);
  const where = isReadable ? `${field}: ` : '';
  const param = isReadable ? field : 'body';
  if (largest.members > ofOne) {
    const what = largest.isList ? 'A list may have at most' : 'An object may have at most';
    throw invalidParam(param, `${where}${what} ${ofOne} ${largest.isList ? 'items' : 'fields'}.`);
  }
  if (members > ofAll) {
    throw invalidParam(param, `${where}All lists and objects together may have at most ${ofAll} members.`);
  }
}

/**
 * Rejects keys that could pollute prototypes, at any depth.
 * @throws ServiceError MISSING_PARAMS
 */
export function rejectPrototypeKeys(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    if (key === '__proto__' || key === 'constructor') {
      throw invalidParam('request', `${key} must not be used as a field name.`);
    }
    rejectPrototypeKeys(member);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
