import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ApiContext } from './context.js';

interface Representation {
  bytes: Buffer;
  etag: string;
}

/** A file that does not change while the process runs. It is kept in memory, also in gzipped form. */
export interface StaticFile {
  type: string;
  plain: Representation;
  gzipped: Representation;
}

/** Creates a static file. @param type media type, or a file name extension */
export async function createStaticFile(type: string, content: Buffer | string): Promise<StaticFile> {
  const plain = Buffer.from(content);
  const gzipped = await promisify(gzip)(plain, { level: 9 });
  return { type, plain: representationOf(plain), gzipped: representationOf(gzipped) };
}

function representationOf(bytes: Buffer): Representation {
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
}

/**
 * Sends a file, or 304 if the client has it. All responses share the bytes, so responses in progress use no extra
 * memory.
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

/** Whether If-None-Match contains the ETag. The comparison is weak, because a compressing proxy makes the ETag weak. */
function isHeld(ifNoneMatch: string, etag: string): boolean {
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}

/** Caches files. Each file is loaded when first used. If loading a file fails, the next use tries again. */
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
