import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { parseConfig, type Config } from '../src/platform/config/config.js';

const TIMEOUT_MS = 4_000;

/**
 * Checks whether this container's role is alive, and exits with 0 or 1. The role is the last argument of the
 * container's first process. Alive does not mean ready: an API without MongoDB responds with 503 but is alive, and a
 * restart would not help.
 */
async function main(env: NodeJS.ProcessEnv): Promise<void> {
  const config = parseConfig(env);
  const role = readFileSync('/proc/1/cmdline', 'utf8').split('\0').filter(Boolean).at(-1) ?? '';
  const check = CHECKS[role];
  if (check === undefined)
    throw new Error(
      `The process with id 1 must be a Callwright role (${Object.keys(CHECKS).join(', ')}), but its last argument is "${role}".`,
    );
  await check(config);
}

const CHECKS: Readonly<Record<string, (config: Config) => Promise<void>>> = {
  api: ({ api }) => requireResponse(`http://127.0.0.1:${api.port}/health/live`),
  media: ({ media }) => requireResponse(`http://127.0.0.1:${media.port}/health`),
  simulator: ({ simulator }) => requireResponse(`http://127.0.0.1:${simulator.port}/`),
  // A worker has no port; it is healthy while it can reach the Temporal server.
  worker: ({ temporal }) => requireConnection(temporal.address),
};

async function requireResponse(url: string): Promise<void> {
  // This header satisfies the API's HTTPS requirement.
  const headers = { 'x-forwarded-proto': 'https' };
  const { status } = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (status >= 500) throw new Error(`${url} responds with status ${status}.`);
}

function requireConnection(address: string): Promise<void> {
  const { hostname, port } = new URL(`tcp://${address}`);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), timeout: TIMEOUT_MS });
    socket.once('connect', () => resolve(void socket.destroy()));
    socket.once('timeout', () => reject(new Error(`Connecting to ${address} timed out.`)));
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
