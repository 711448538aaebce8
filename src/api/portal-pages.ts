import { readFile } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { existsSync } from 'node:fs';
import { ServiceError } from '../kernel/errors.js';
import type { ApiContext } from '../platform/http/context.js';
import { SECURITY_HEADERS } from '../platform/http/security.js';
import { createFileCache, createStaticFile, sendStaticFile, type StaticFile } from '../platform/http/static-file.js';

/**
 * The page loads everything from this service and runs no inline scripts. For calls in the browser it connects to the
 * media servers.
 */
function pagePolicyOf(streamUrl: string): string {
  return (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; " +
    `connect-src 'self' ${new URL(streamUrl).origin}; frame-ancestors 'none'; base-uri 'none'; form-action 'self'`
  );
}

/** The pages may use the microphone, unlike other responses. */
const PERMISSIONS = SECURITY_HEADERS['Permissions-Policy'].replace('microphone=()', 'microphone=(self)');

const ASSET = /^\/portal\/assets\/([A-Za-z0-9_-]+-[A-Za-z0-9]{8}\.(?:js|css|svg))$/;
const PAGE = /^\/portal(\/[\w%.~-]*)*$/;
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.html': 'text/html',
};

/**
 * Serves the developer portal's built files. Every path under /portal returns the same page, whose script decides what
 * to show. File names of assets contain a hash of the content.
 */
export function createPortalPages({ streamUrl, folder = builtFolder() }: { streamUrl: string; folder?: string }) {
  const headers = {
    'Cache-Control': 'no-cache',
    'Content-Security-Policy': pagePolicyOf(streamUrl),
    'Permissions-Policy': PERMISSIONS,
  };
  const fileOf = createFileCache(async (name) =>
    createStaticFile(TYPES[extname(name)] ?? 'application/octet-stream', await readFile(join(folder, name))),
  );

  async function send(ctx: ApiContext, name: string): Promise<void> {
    let file: StaticFile;
    try {
      file = await fileOf(name);
    } catch {
      throw new ServiceError('NOT_FOUND', 'There is no file at this path.');
    }
    sendStaticFile(ctx, file);
  }

  /** Handles requests under /portal that no route matched, and leads from / to the portal. */
  return async function portalPages(ctx: ApiContext, next: () => Promise<unknown>): Promise<unknown> {
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return next();
    if (ctx.path === '/') return ctx.redirect('/portal');
    const asset = ASSET.exec(ctx.path)?.[1];
    if (asset !== undefined) {
      await send(ctx, join('assets', asset));
      ctx.set('Cache-Control', 'public, max-age=31536000, immutable');
      return undefined;
    }
    if (!PAGE.test(ctx.path) || ctx.path.startsWith('/portal/assets')) return next();
    await send(ctx, 'index.html');
    ctx.set(headers);
    return undefined;
  };
}

/** Finds `dist/portal`, whether this runs from the build or from the sources. */
function builtFolder(): string {
  for (let folder = __dirname; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return join(folder, 'dist/portal');
  }
  return join(__dirname, 'dist/portal');
}
