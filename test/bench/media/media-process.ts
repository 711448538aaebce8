import { join } from 'node:path';
import type { createCallGateway as CreateCallGateway } from '../../../src/calls/gateway.js';
import type { Config, parseConfig as ParseConfig } from '../../../src/platform/config/config.js';
import type { createEngines as CreateEngines } from '../../../src/voice/engines/engines.js';
import type { createCallMediaServer as CreateMediaServer } from '../../../src/calls/media.js';
import type { openDatabase as OpenDatabase } from '../../../src/database.js';
import type { createLogger as CreateLogger, Logger } from '../../../src/platform/telemetry/logger.js';
import type { createMetrics as CreateMetrics } from '../../../src/platform/telemetry/metrics/metrics.js';
import type { startMetricsServer as StartMetricsServer } from '../../../src/platform/telemetry/metrics/metrics-server.js';
import type { createTracing as CreateTracing } from '../../../src/platform/telemetry/tracing/create-tracing.js';
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

/** Starts metrics and traces, if they are configured. Processes without them do not load their code. */
async function startTelemetry({ metrics, tracing }: Config, logger: Logger): Promise<void> {
  if (metrics.port !== undefined) {
    const { createMetrics } = built('platform/telemetry/metrics/metrics.js') as { createMetrics: typeof CreateMetrics };
    const { startMetricsServer } = built('platform/telemetry/metrics/metrics-server.js') as {
      startMetricsServer: typeof StartMetricsServer;
    };
    const { registry } = createMetrics({ role: 'media', logger });
    await startMetricsServer({ registry, host: metrics.host, port: metrics.port, logger });
  }
  if (tracing !== undefined) {
    const { createTracing } = built('platform/telemetry/tracing/create-tracing.js') as {
      createTracing: typeof CreateTracing;
    };
    createTracing({ settings: tracing, role: 'media', logger });
  }
}

/** Starts a media process as in production, except for its engine. */
async function main(): Promise<void> {
  const config = parseConfig(process.env);
  const logger = createLogger({ role: 'media', level: 'error' });
  await startTelemetry(config, logger);
  const heardMs: number[] = [];
  const engine = createToneEngine((ms) => heardMs.push(ms));
  const server = createCallMediaServer({
    config,
    database: await openDatabase(config.mongodbUri),
    gateway: await createCallGateway({ config }),
    engines: createEngines({ defaultEngine: engine, testEngine: engine }),
    logger,
  });
  const { port } = await server.listen();
  serveFigures(heardMs);
  process.send?.({ port });
}

void main();
