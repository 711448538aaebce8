import { join } from 'node:path';
import type { createCompletionSender as CreateCompletionSender } from '../../../src/calls/wiring.js';
import type { openDatabase as OpenDatabase } from '../../../src/database.js';
import type { parseConfig as ParseConfig } from '../../../src/platform/config/config.js';
import type { createLogger as CreateLogger } from '../../../src/platform/telemetry/logger.js';
import { serveDeliveries } from './deliveries.js';

/** Loads the modules of the production build, because a TypeScript loader would change the measured code. */
const built = (module: string): unknown => require(join(__dirname, '../../../dist/src', module));
const { createCompletionSender } = built('calls/wiring.js') as {
  createCompletionSender: typeof CreateCompletionSender;
};
const { openDatabase } = built('database.js') as { openDatabase: typeof OpenDatabase };
const { parseConfig } = built('platform/config/config.js') as { parseConfig: typeof ParseConfig };
const { createLogger } = built('platform/telemetry/logger.js') as { createLogger: typeof CreateLogger };

/** Delivers webhooks as the worker's activity does, without Temporal. */
async function main(): Promise<void> {
  const config = parseConfig(process.env);
  const database = await openDatabase(config.mongodbUri);
  const logger = createLogger({ role: 'worker', level: 'error' });
  const sender = createCompletionSender({ config, database, logger });
  serveDeliveries(async (callId) => {
    const { result } = await sender.attempt(callId);
    if (result !== 'delivered') throw new Error(`${callId}: ${result}`);
  });
}

void main();
