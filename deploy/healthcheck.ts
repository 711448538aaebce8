import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { parseConfig, type Config } from '../src/platform/config/config.js';

const TIMEOUT_MS = 4_000;

/**
 * Whether the role that runs in this container is alive; the role is the last word of the container's first process.
 * Exits 0 or 1. Alive is not ready: an API without MongoDB answers 503 and is alive, restarting it would help nobody.
 */
async function main(env: NodeJS.ProcessEnv): Promise<void> {
  const config = parseConfig(env);
  const role = readFileSync('/proc/1/cmdline', 'utf8').split('\0').filter(Boolean).at(-1) ?? '';
  const check = CHECKS[role];
  if (check === undefined) throw new Error(`No health check is known for ${role}.`);
  await check(config);
}

const CHECKS: Readonly<Record<string, (config: Config) => Promise<void>>> = {
  api: ({ api }) => answers(`http://127.0.0.1:${api.port}/health/live`),
  media: ({ media }) => answers(`http://127.0.0.1:${media.port}/health`),
  simulator: ({ simulator }) => answers(`http://127.0.0.1:${simulator.port}/`),
  // A worker listens on nothing: it is of use while it can reach the server that hands it work.
  worker: ({ temporal }) => accepts(temporal.address),
};

async function answers(url: string): Promise<void> {
  // The role's own TLS rule must not fail the check.
  const headers = { 'x-forwarded-proto': 'https' };
  const { status } = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (status >= 500) throw new Error(`It answers ${status}.`);
}

function accepts(address: string): Promise<void> {
  const { hostname, port } = new URL(`tcp://${address}`);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), timeout: TIMEOUT_MS });
    socket.once('connect', () => resolve(void socket.destroy()));
    socket.once('timeout', () => reject(new Error(`No connection to ${address}.`)));
    socket.once('error', reject);
  });
}

main(process.env).then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
