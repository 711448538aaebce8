import { join } from 'node:path';
import type { Ports } from '../processes/free-port.js';
import { takeWantedPort } from '../processes/wanted-port.js';
import { findMongodb } from './mongodb/find-mongodb.js';
import { mongodbUri, startMongodb } from './mongodb/start-mongodb.js';
import { hiddenLoopbackHost } from '../processes/loopback-host.js';
import { withoutSecretFiles } from '../../platform/config/files/secret-files.js';
import type { Report } from '../processes/run-command.js';
import type { ServerProcess } from './server-process.js';
import { findTemporal } from './temporal/find-temporal.js';
import { registerSearchAttributes } from './temporal/search-attributes.js';
import { startTemporal } from './temporal/start-temporal.js';
import { startUiProxy, type UiProxy } from './temporal/ui-proxy.js';

const DATABASE = 'callwright';
const MONGODB_PORT = 27_017;
const TEMPORAL_PORT = 7_233;
const TEMPORAL_UI_PORT = 8_233;

export interface ServerDeps {
  env: NodeJS.ProcessEnv;
  dataFolder: string;
  ports: Ports;
  report: Report;
  signal: AbortSignal;
}

/** Starts an embedded server. It can be called again after the server has stopped; the address stays the same. */
export type StartServer = (signal: AbortSignal) => Promise<ServerProcess>;

/**
 * Prepares the database: the one at MONGODB_URI, which can be in a file, or an embedded one.
 * @returns its address and, for an embedded one, how to start it
 */
export async function prepareMongodb(deps: ServerDeps): Promise<{ uri: string; start?: StartServer }> {
  const { env } = deps;
  const { MONGODB_URI: uri } = withoutSecretFiles(env);
  if (uri) return { uri };
  const dataFolder = join(deps.dataFolder, 'mongodb');
  const program = await findMongodb({ ...deps, dataFolder });
  const port = await takeWantedPort({ ...deps, part: 'MongoDB', wanted: MONGODB_PORT });
  return {
    uri: mongodbUri(program, port, DATABASE),
    start: (signal) => startMongodb({ program, dataFolder, port, env, signal }),
  };
}

/**
 * Prepares Temporal: the one at TEMPORAL_ADDRESS, or an embedded one with its web UI.
 * @returns its address and UI address and, for an embedded one, how to start it and the UI proxy to close after it
 */
export async function prepareTemporal(
  deps: ServerDeps,
): Promise<{ address: string; uiUrl: string; start?: StartServer; proxy?: UiProxy }> {
  const { env, ports, report } = deps;
  if (env.TEMPORAL_ADDRESS) {
    await registerSearchAttributes({ env, report });
    return { address: env.TEMPORAL_ADDRESS, uiUrl: '' };
  }
  const file = await findTemporal(deps);
  const port = await takeWantedPort({ ...deps, part: 'Temporal', wanted: TEMPORAL_PORT });
  const shownPort = await takeWantedPort({ ...deps, part: 'the Temporal UI', wanted: TEMPORAL_UI_PORT });
  const uiPort = await ports.take();
  const ui = { host: await hiddenLoopbackHost(uiPort), port: uiPort };
  const dataFile = join(deps.dataFolder, 'temporal.db');
  return {
    address: `127.0.0.1:${port}`,
    uiUrl: `http://127.0.0.1:${shownPort}`,
    start: (signal) => startTemporal({ file, port, ui, dataFile, env, signal }),
    proxy: await startUiProxy(shownPort, ui),
  };
}
