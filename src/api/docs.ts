import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DOCS_STYLE } from './docs-style.js';
import { ERROR_DOCS_STYLE, errorDocsPage } from './error-docs.js';
import { openApiDocument } from './openapi.js';
import type { Config } from '../platform/config/config.js';
import { ServiceError } from '../kernel/errors.js';
import { content } from '../platform/http/routing/response.js';
import type { Handlers } from '../platform/http/routing/handlers.js';
import type { serviceRoutes } from './contract.js';
import { sessionCookieOf } from '../identity/access/session-cookie.js';
import { createFileCache, createStaticFile, type StaticFile } from '../platform/http/static-file.js';

/** The page loads everything from this service, except some icons that swagger-ui draws from data URLs. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const PAGE = `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Callwright API reference</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="stylesheet" href="/docs/page.css">
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
  </head>
  <body>
    <div id="interface"></div>
    <noscript>This page needs JavaScript. The document itself is at <a href="/openapi.json">/openapi.json</a>.</noscript>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

/** Draws the page in the theme that was chosen in the portal, else in that of the system. */
const START_SCRIPT = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#interface', deepLinking: true, validatorUrl: null });
const dark = matchMedia('(prefers-color-scheme: dark)');
const chosen = localStorage.getItem('callwright-theme');
const apply = () => document.documentElement.classList.toggle('dark-mode', chosen ? chosen === 'dark' : dark.matches);
dark.addEventListener('change', apply);
apply();
`;

const FILE_TYPES = {
  'start.js': 'text/javascript',
  errors: 'text/html',
  'errors.css': 'text/css',
  'page.css': 'text/css',
  'swagger-ui.css': 'text/css',
  'swagger-ui-bundle.js': 'text/javascript',
  'favicon-32x32.png': 'image/png',
} as const;

function isDocsFile(name: string): name is keyof typeof FILE_TYPES {
  return Object.hasOwn(FILE_TYPES, name);
}

/** Handlers of GET /openapi.json, /docs and the page's files. */
export function createDocsHandlers(deps: {
  config: Config;
}): Handlers<Pick<typeof serviceRoutes, 'readInterface' | 'readDocs' | 'readDocsFile'>> {
  const fileOf = createFileCache(load);

  async function load(name: string): Promise<StaticFile> {
    if (name === 'openapi.json') {
      const document = openApiDocument(deps.config.publicBaseUrl, sessionCookieOf(deps.config).name);
      return createStaticFile('application/json', JSON.stringify(document));
    }
    if (name === 'docs') return createStaticFile('text/html', PAGE);
    if (name === 'errors') return createStaticFile('text/html', errorDocsPage());
    if (name === 'errors.css') return createStaticFile('text/css', ERROR_DOCS_STYLE);
    if (name === 'page.css') return createStaticFile('text/css', DOCS_STYLE);
    if (name === 'start.js') return createStaticFile('text/javascript', START_SCRIPT);
    const type = isDocsFile(name) ? FILE_TYPES[name] : '';
    return createStaticFile(type, await readFile(join(swaggerFolder(), name)));
  }

  return {
    async readInterface() {
      const headers = { 'Cache-Control': 'no-cache' };
      return content('application/json', await fileOf('openapi.json'), { headers });
    },

    async readDocs() {
      const headers = { 'Cache-Control': 'no-cache', 'Content-Security-Policy': PAGE_POLICY };
      return content('text/html', await fileOf('docs'), { headers });
    },

    async readDocsFile({ params: { file } }) {
      if (!isDocsFile(file)) throw new ServiceError('NOT_FOUND', 'There is no file at this path.');
      const policy = file === 'errors' ? { 'Content-Security-Policy': PAGE_POLICY } : {};
      const headers = { 'Cache-Control': 'public, max-age=3600', ...policy };
      return content(FILE_TYPES[file], await fileOf(file), { headers });
    },
  };
}

function swaggerFolder(): string {
  return dirname(require.resolve('swagger-ui-dist/package.json'));
}
