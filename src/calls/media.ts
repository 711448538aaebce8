import { createCarriers } from '../telephony/carriers.js';
import { createCarrierBindings } from '../telephony/carrier-bindings.js';
import { createCarrierEvents } from '../telephony/carrier-events.js';
import { createMediaServer, type MediaServer, type MediaServerDeps } from '../voice/media/media-server.js';
import { createContinueAfterStream } from './callbacks/after-stream.js';
import { createStatusHandlers } from './callbacks/status.js';
import { createCallRequests } from './call-requests.js';
import type { CallsDatabase } from './database.js';
import type { CallGateway } from './gateway.js';
import { createCallGate, createCallResults, createMediaCallReader } from './wiring.js';

/**
 * Creates the media server with its access to calls.
 * @param deps.carriers by default the ones in the configuration
 */
export function createCallMediaServer(
  deps: Omit<MediaServerDeps, 'calls' | 'dialGate' | 'database' | 'carriers' | 'web' | 'gateway'> &
    Partial<Pick<MediaServerDeps, 'carriers'>> & { database: CallsDatabase; gateway: CallGateway },
): MediaServer {
  const { database } = deps;
  const dialGate = createCallGate(deps);
  const web = {
    ...deps,
    dialGate,
    requests: createCallRequests(database),
    bindings: createCarrierBindings(database),
    carrierEvents: createCarrierEvents(database),
    results: createCallResults(database),
  };
  return createMediaServer({
    ...deps,
    carriers: deps.carriers ?? createCarriers(deps),
    calls: createMediaCallReader(database),
    dialGate,
    web: { ...createStatusHandlers(web), continueAfterStream: createContinueAfterStream(web) },
  });
}
