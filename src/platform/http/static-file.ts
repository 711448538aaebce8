import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ApiContext } from './context.js';

interface Representation {
  bytes: Buffer;
  etag: string;
}

/** A file that does not change while the process runs, in memory with its gzipped form. */
export interface StaticFile {
  type: string;
  plain: Representation;
  gzipped: Representation;
}

/** @param type media type, or a file name extension */
export async function createStaticFile(type: string, content: Buffer | string): Promise<StaticFile> {
  const plain = Buffer.from(content);
  const gzipped = await promisify(gzip)(plain, { level: 9 });
  return { type, plain: representationOf(plain), gzipped: representationOf(gzipped) };
}

function representationOf(bytes: Buffer): Representation {
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
}

/**
 * Sends a file, or 304 if the client has it. All responses share the same bytes, so pending ones use no extra memory.
 */
export function sendStaticFile(ctx: ApiContext, file: StaticFile): void {
  const isGzipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
  const { bytes, etag } = isGzipped ? file.gzipped : file.plain;
  ctx.vary('Accept-Encoding');
  ctx.set('ETag', etag);
  if (isHeld(ctx.get('If-None-Match'), etag)) {
    ctx.status = 304;
    return;
  }
  if (isGzipped) ctx.set('Content-Encoding', 'gzip');
  ctx.type = file.type;
  ctx.body = bytes;
}

/** Whether If-None-Match contains the ETag. Weak comparison, because a compressing proxy makes the ETag weak. */
function isHeld(ifNoneMatch: string, etag: string): boolean {
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}

/** Caches files, loading each on first use. A file that fails to load is tried again next time. */
export function createFileCache(load: (name: string) => Promise<StaticFile>): (name: string) => Promise<StaticFile> {
  const files = new Map<string, Promise<StaticFile>>();
  return (name) => {
    const known = files.get(name);
    if (known !== undefined) return known;
    const loading = load(name);
    files.set(name, loading);
    loading.catch(() => files.delete(name));
    return loading;
  };
}
