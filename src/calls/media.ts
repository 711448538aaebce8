import { createMediaServer, type MediaServer, type MediaServerDeps } from '../voice/media/media-server.js';
import type { CallsDatabase } from './database.js';
import { createCallGate, createStreamedCalls } from './wiring.js';

/** The media server, over the calls that were asked for. */
export function createCallMediaServer(
  deps: Omit<MediaServerDeps, 'calls' | 'dialGate' | 'database'> & { database: CallsDatabase },
): MediaServer {
  return createMediaServer({ ...deps, calls: createStreamedCalls(deps.database), dialGate: createCallGate(deps) });
}
