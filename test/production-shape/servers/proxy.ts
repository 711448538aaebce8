import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../../src/dev/servers/cache-folder.js';
import type { FindOptions } from '../../../src/dev/servers/find-options.js';
import { probePort, startReady } from '../../../src/dev/servers/server-process.js';
import type { ShapeContext } from '../context.js';
import { buildGoServer } from './go-server.js';
import { API_HEALTH, MEDIA_HEALTH, startSmallProxy, type ProxyTargets } from './small-proxy.js';

/** The version of the compose file. */
export const CADDY_VERSION = '2.10.2';
const READY_WITHIN_MS = 30_000;
/** How often a proxy asks each process whether it is ready. */
export const HEALTH_EVERY_MS = 1_000;

/** Starts a small proxy in this process, which does what the service needs from one. */
export async function startEmbeddedProxy(context: ShapeContext, targets: ProxyTargets): Promise<void> {
  const proxy = await startSmallProxy(targets, HEALTH_EVERY_MS);
  context.atEnd(() => proxy.close());
}

/** @returns the path of its executable */
export function buildCaddy(options: FindOptions): Promise<string> {
  const module = 'github.com/caddyserver/caddy/v2/cmd/caddy';
  return buildGoServer({ label: 'caddy', name: 'caddy', module, version: CADDY_VERSION }, options);
}

/** Starts Caddy with the Caddyfile of the compose file, changed for several processes. */
export async function startCaddy(context: ShapeContext, targets: ProxyTargets): Promise<void> {
  const { folder, env, report, signal } = context;
  const file = await buildCaddy(context);
  const configFile = join(folder, 'Caddyfile');
  await writeFile(configFile, caddyfile(await readFile(join(packageRoot(), 'deploy/Caddyfile'), 'utf8'), targets));
  const caddy = await startReady({
    name: 'Caddy',
    command: {
      file,
      args: ['run', '--config', configFile, '--adapter', 'caddyfile'],
      env: {
        ...env,
        DOMAIN: `https://${targets.name ?? targets.host}:${targets.port}`,
        XDG_DATA_HOME: join(folder, 'caddy-data'),
        XDG_CONFIG_HOME: join(folder, 'caddy-config'),
      },
    },
    probe: () => probePort(targets.port, targets.host),
    timeoutMs: READY_WITHIN_MS,
    signal,
  });
  context.keep('Caddy', caddy);
  report(`Caddy ${CADDY_VERSION} runs with deploy/Caddyfile`);
}

/**
 * Returns the deployed Caddyfile with the upstreams of this run, with health checks, as docs/operations/upgrade.md describes for
 * several processes, and with a certificate that needs no authority.
 */
export function caddyfile(deployed: string, { host, certificate, api, media }: ProxyTargets): string {
  const upstreams = (addresses: readonly string[], health: string, [policy, tryFor]: readonly [string, string]) =>
    [
      `to ${addresses.join(' ')}`,
      `health_uri ${health}`,
      `health_interval ${HEALTH_EVERY_MS}ms`,
      'health_fails 2',
      `lb_policy ${policy}`,
      `lb_try_duration ${tryFor}`,
    ].join('\n\t\t\t');
  const changes: readonly (readonly [from: string, to: string, times?: number])[] = [
    ['\n{\n', `\n{\n\tadmin off\n\tauto_https off\n\tdefault_bind ${host}\n`],
    ['{$DOMAIN} {\n', `{$DOMAIN} {\n\ttls ${certificate.certFile} ${certificate.keyFile}\n`],
    ['import processes media 8081 {args[0]} {args[1]}', upstreams(media, MEDIA_HEALTH, ['{args[0]}', '{args[1]}'])],
    ['import processes api 8080 least_conn 5s', upstreams(api, API_HEALTH, ['least_conn', '5s']), 2],
  ];
  return changes.reduce((text, [from, to, times = 1]) => {
    if (text.split(from).length !== times + 1)
      throw new Error(`deploy/Caddyfile has not ${times} × ${JSON.stringify(from)}.`);
    return text.replaceAll(from, () => to);
  }, deployed);
}
