import { createCallGateway } from '../../../src/calls/gateway.js';
import { parseConfig } from '../../../src/config.js';
import { createEngines } from '../../../src/conversation/engines.js';
import { createMediaServer } from '../../../src/conversation/media-server.js';
import { openDatabase } from '../../../src/store/database.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { serveFigures } from './process-figures.js';
import { createToneEngine } from './tone-engine.js';

/** One media process as it runs in production, but for its engine. */
async function main(): Promise<void> {
  const config = parseConfig(process.env);
  const heardMs: number[] = [];
  const engine = createToneEngine((ms) => heardMs.push(ms));
  const server = createMediaServer({
    config,
    database: await openDatabase(config.mongodbUri),
    gateway: await createCallGateway({ config }),
    engines: createEngines({ byDefault: engine, forTests: engine }),
    logger: createLogger({ role: 'media', level: 'error' }),
  });
  const { port } = await server.listen();
  serveFigures(heardMs);
  process.send?.({ port });
}

void main();
