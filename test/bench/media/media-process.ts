import { join } from 'node:path';
import type { createCallGateway as CreateCallGateway } from '../../../src/calls/gateway.js';
import type { parseConfig as ParseConfig } from '../../../src/platform/config/config.js';
import type { createEngines as CreateEngines } from '../../../src/voice/engines/engines.js';
import type { createCallMediaServer as CreateMediaServer } from '../../../src/calls/media.js';
import type { openDatabase as OpenDatabase } from '../../../src/database.js';
import type { createLogger as CreateLogger } from '../../../src/platform/telemetry/logger.js';
import { serveFigures } from './process-figures.js';
import { createToneEngine } from './tone-engine.js';

/** Loads the modules of the production build, because a TypeScript loader would change the measured code. */
const built = (module: string): unknown => require(join(__dirname, '..', '..', '..', 'dist', 'src', module));
const { createCallGateway } = built('calls/gateway.js') as { createCallGateway: typeof CreateCallGateway };
const { parseConfig } = built('platform/config/config.js') as { parseConfig: typeof ParseConfig };
const { createEngines } = built('voice/engines/engines.js') as { createEngines: typeof CreateEngines };
const { createCallMediaServer } = built('calls/media.js') as { createCallMediaServer: typeof CreateMediaServer };
const { openDatabase } = built('database.js') as { openDatabase: typeof OpenDatabase };
const { createLogger } = built('platform/telemetry/logger.js') as { createLogger: typeof CreateLogger };

/** Starts a media process as in production, except for its engine. */
async function main(): Promise<void> {
  const config = parseConfig(process.env);
  const heardMs: number[] = [];
  const engine = createToneEngine((ms) => heardMs.push(ms));
  const server = createCallMediaServer({
    config,
    database: await openDatabase(config.mongodbUri),
    gateway: await createCallGateway({ config }),
    engines: createEngines({ defaultEngine: engine, testEngine: engine }),
    logger: createLogger({ role: 'media', level: 'error' }),
  });
  const { port } = await server.listen();
  serveFigures(heardMs);
  process.send?.({ port });
}

void main();
