import { readFileSync } from 'node:fs';
import { parseConfig, type Config } from '../src/platform/config/config.js';
import { runScript } from './run-script.js';

const TIMEOUT_MS = 4_000;

/**
 * Checks whether a role on this machine is alive, and exits with 0 or 1. The role is the argument; by default it is the
 * last argument of the container's first process. Alive does not mean ready: an API without MongoDB responds with 503 but
 * is alive, and a restart would not help.
 */
async function main(env: NodeJS.ProcessEnv, argument: string | undefined): Promise<void> {
  const config = parseConfig(env);
  const role = argument ?? readFileSync('/proc/1/cmdline', 'utf8').split('\0').filter(Boolean).at(-1) ?? '';
  const check = CHECKS[role];
  if (check === undefined)
    throw new Error(
      `The role must be one of ${Object.keys(CHECKS).join(', ')}, but it is "${role}". It is the argument, or the last argument of the process with id 1.`,
    );
  await check(config);
}

const CHECKS: Readonly<Record<string, (config: Config) => Promise<void>>> = {
  api: ({ api }) => requireResponse(`http://127.0.0.1:${api.port}/health/live`),
  media: ({ media }) => requireResponse(`http://127.0.0.1:${media.port}/health/live`),
  simulator: ({ simulator }) => requireResponse(`http://127.0.0.1:${simulator.port}/health/live`),
  codec: ({ codec }) => requireResponse(`http://127.0.0.1:${codec.port}/health/live`),
  exporter: ({ metrics }) =>
    requireResponse(`http://127.0.0.1:${requirePort('METRICS_PORT', metrics.port)}/health/live`),
  // A worker whose pollers have stopped does no work, although its event loop runs, so it must be ready.
  worker: ({ worker }) => requireResponse(`http://127.0.0.1:${requirePort('WORKER_PORT', worker.port)}/health/ready`),
};

function requirePort(variable: string, port: number | undefined): number {
  if (port === undefined) throw new Error(`${variable} is not set; set it to the port on which the role answers.`);
  return port;
}

async function requireResponse(url: string): Promise<void> {
  // This header satisfies the API's HTTPS requirement.
  const headers = { 'x-forwarded-proto': 'https' };
  const { status } = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (status !== 200) throw new Error(`${url} responds with status ${status}.`);
}

runScript(main(process.env, process.argv[2]));
