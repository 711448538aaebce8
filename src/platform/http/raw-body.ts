import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip, inflate } from 'node:zlib';
import { ServiceError } from '../../kernel/errors.js';
import { invalidBody } from '../../kernel/invalid-request.js';
import { createBodyBytes } from './server/body-bytes.js';

type Inflate = (data: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const DECODERS: Readonly<Record<string, Inflate>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
};

/**
 * Reads the whole body of a request.
 * @param p.limit maximum bytes, both as sent and decompressed
 * @param p.decompress whether to accept a compressed body; only from authenticated senders
 * @param p.signal aborts the read with its reason
 * @throws ServiceError PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, MISSING_PARAMS
 */
export async function readBody(
  req: IncomingMessage,
  p: { limit: number; decompress: boolean; signal?: AbortSignal },
): Promise<Buffer> {
  const { limit, signal } = p;
  const encoding = (req.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return readBytes(req, limit, signal);
  if (!p.decompress)
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', 'The body of an unauthenticated request must not be compressed.');
  const decode = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding] : undefined;
  if (decode === undefined) {
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', 'Content-Encoding must be gzip, deflate or absent.');
  }
  const bytes = await readBytes(req, limit, signal);
  try {
    return await decode(bytes, { maxOutputLength: limit });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(limit);
    throw invalidBody('body_unreadable', 'The request body does not match its Content-Encoding.');
  }
}

function readBytes(req: IncomingMessage, limit: number, signal?: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(req.headers['content-length'] ?? 0) > limit) return reject(tooLarge(limit));
    const body = createBodyBytes();
    let isRefused = false;
    const rejectBody = (reason: unknown) => {
      body.clear();
      isRefused = true;
      reject(reason);
    };
    req.on('data', (chunk: Buffer) => {
      // Discard the rest of the body, so that a client that is still sending can read the response.
      if (isRefused) return;
      if (body.size() + chunk.length > limit) rejectBody(tooLarge(limit));
      else body.add(chunk);
    });
    signal?.addEventListener('abort', () => rejectBody(signal.reason), { once: true });
    if (signal?.aborted) rejectBody(signal.reason);
    req.on('end', () => resolve(body.bytes()));
    const broken = () => reject(invalidBody('body_unreadable', 'The request body is incomplete.'));
    req.on('error', broken);
    req.on('close', broken);
    // The client may have gone before the body was asked for. Then none of these events follows.
    if (req.destroyed) broken();
  });
}

function tooLarge(limit: number): ServiceError {
  return new ServiceError('PAYLOAD_TOO_LARGE', `The request body must have at most ${limit / 1_024} KiB.`);
}

/**
 * Decodes bytes that must be UTF-8.
 * @throws ServiceError MISSING_PARAMS
 */
export function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw invalidBody('body_unreadable', 'The request body is not valid UTF-8.');
  }
}

/**
 * Returns media type and charset of the Content-Type header, in lower case. The charset defaults to `utf-8`. This
 * splits by hand, because a regular expression that skips blanks around a value with blanks takes cubic time.
 */
export function contentTypeOf(req: IncomingMessage): { type: string; charset: string } {
  const [type = '', ...parameters] = (req.headers['content-type'] ?? '').split(';');
  const charset = parameters.map(charsetOf).find((value) => value !== '');
  return { type: type.trim().toLowerCase(), charset: charset ?? 'utf-8' };
}

/** Returns the value of a `charset` parameter, without quotes. Empty for any other parameter. */
function charsetOf(parameter: string): string {
  const equals = parameter.indexOf('=');
  if (equals === -1 || parameter.slice(0, equals).trim().toLowerCase() !== 'charset') return '';
  return parameter
    .slice(equals + 1)
    .trim()
    .replace(/^"/, '')
    .replace(/"$/, '')
    .toLowerCase();
}
