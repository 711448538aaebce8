import { Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../../platform/temporal/search-attributes.js';
import type { UiAddress } from './ui-proxy.js';
import { probePort, startReady, type ServerProcess } from '../server-process.js';

const READY_TIMEOUT_MS = 60_000;
const NAMESPACE = 'default';
/** Its HTTP interface cannot be turned off, and nobody uses it: it answers to a name that no web page has. */
const NO_HOST = 'nobody.invalid';

export interface TemporalOptions {
  /** The Temporal CLI. */
  file: string;
  port: number;
  /** Absent: no user interface. */
  ui?: UiAddress;
  /** Absent: everything is lost when it stops. */
  dataFile?: string;
  env: NodeJS.ProcessEnv;
  signal?: AbortSignal | undefined;
}

/**
 * Starts Temporal's development server on the loopback interface with our search attributes registered.
 * @throws Error with what it wrote last when it does not come up
 */
export async function startTemporal(options: TemporalOptions): Promise<ServerProcess> {
  const { port, ui, dataFile } = options;
  const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--log-level', 'error'];
  args.push('--dynamic-config-value', `frontend.httpAllowedHosts=["${NO_HOST}"]`);
  if (ui === undefined) args.push('--headless');
  else args.push('--ui-ip', ui.host, '--ui-port', String(ui.port));
  if (dataFile !== undefined) args.push('--db-filename', dataFile);
  for (const [name, type] of Object.entries(SEARCH_ATTRIBUTES)) args.push('--search-attribute', `${name}=${type}`);
  return startReady({
    name: 'Temporal',
    command: { file: options.file, args, env: options.env },
    probe: async () => {
      // First, because a client that found nobody there would stay and knock for ever.
      await probePort(port);
      await probeTemporal(`127.0.0.1:${port}`);
    },
    timeoutMs: READY_TIMEOUT_MS,
    signal: options.signal,
  });
}

/** Resolves when the server at this address knows the namespace and every search attribute of ours. */
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
