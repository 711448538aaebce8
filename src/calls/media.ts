import { createCarriers } from '../telephony/carriers.js';
import { createMediaServer, type MediaServer, type MediaServerDeps } from '../voice/media/media-server.js';
import type { CallsDatabase } from './database.js';
import { createCallGate, createMediaCallReader } from './wiring.js';

/**
 * Creates the media server with its access to calls.
 * @param deps.carriers by default the ones in the configuration
 */
export function createCallMediaServer(
  deps: Omit<MediaServerDeps, 'calls' | 'dialGate' | 'database' | 'carriers'> &
    Partial<Pick<MediaServerDeps, 'carriers'>> & { database: CallsDatabase },
): MediaServer {
  return createMediaServer({
    ...deps,
    carriers: deps.carriers ?? createCarriers(deps),
    calls: createMediaCallReader(deps.database),
    dialGate: createCallGate(deps),
  });
}
