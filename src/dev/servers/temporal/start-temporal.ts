import { Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../../platform/temporal/search-attributes.js';
import type { UiAddress } from './ui-proxy.js';
import { probePort, startReady, type ServerProcess } from '../server-process.js';

const READY_TIMEOUT_MS = 60_000;
const NAMESPACE = 'default';
/**
 * Temporal's HTTP API cannot be turned off. Nothing uses it, so it accepts only a host name that no web page can have.
 */
const NO_HOST = 'nobody.invalid';

export interface TemporalOptions {
  /** Path of the Temporal CLI. */
  file: string;
  port: number;
  /** Absent: the server has no web UI. */
  ui?: UiAddress;
  /** Absent: all data is lost when the server stops. */
  dataFile?: string;
  env: NodeJS.ProcessEnv;
  signal?: AbortSignal | undefined;
}

/**
 * Starts Temporal's development server on the loopback interface with our search attributes.
 * @throws Error with the last lines of its output when it does not start
 */
export async function startTemporal(options: TemporalOptions): Promise<ServerProcess> {
  const { port, ui, dataFile } = options;
  const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--log-level', 'error'];
  args.push('--dynamic-config-value', `frontend.httpAllowedHosts=["${NO_HOST}"]`);
  // As servers in production: the development server would read the attributes from its database eight times for each call.
  args.push('--dynamic-config-value', 'system.forceSearchAttributesCacheRefreshOnRead=false');
  if (ui === undefined) args.push('--headless');
  else args.push('--ui-ip', ui.host, '--ui-port', String(ui.port));
  if (dataFile !== undefined) args.push('--db-filename', dataFile);
  for (const [name, type] of Object.entries(SEARCH_ATTRIBUTES)) args.push('--search-attribute', `${name}=${type}`);
  return startReady({
    name: 'Temporal',
    command: { file: options.file, args, env: options.env },
    probe: async () => {
      // Probe the port first, because a client that finds no server would keep reconnecting forever.
      await probePort(port);
      await probeTemporal(`127.0.0.1:${port}`);
    },
    timeoutMs: READY_TIMEOUT_MS,
    signal: options.signal,
  });
}

/** Resolves when the server at this address has the namespace and all our search attributes; rejects otherwise. */
export async function probeTemporal(address: string, namespace = NAMESPACE): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 1_000 });
  try {
    await connection.withDeadline(Date.now() + 2_000, async () => {
      await connection.workflowService.describeNamespace({ namespace });
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      const missing = Object.keys(SEARCH_ATTRIBUTES).filter((name) => customAttributes?.[name] === undefined);
      if (missing.length > 0) throw new Error(`search attributes not registered yet: ${missing.join(', ')}`);
    });
  } finally {
    await connection.close();
  }
}
