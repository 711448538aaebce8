import type { Config } from '../../platform/config/config.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { createEngines, type Engines } from './engines.js';
import type { EngineFactory } from './port.js';
import { createOfflineEngine } from './offline/index.js';
import { createOpenAiRealtimeEngine } from './realtime/index.js';
import { createPipelineEngine } from './pipeline/index.js';

/** Creates the configured engines; test calls always use the offline engine. */
export function createConfiguredEngines({ config, logger }: { config: Config; logger: Logger }): Engines {
  const { byDefault, prices, openaiRealtime, pipeline } = config.engines;
  const report = (error: Error) => logger.warn({ err: error }, 'offline engine recovered from an error');
  const offline = createOfflineEngine({ report, recordsEvents: config.sessionLogs });
  const more: EngineFactory[] = [];
  const common = { prices, logger, recordsEvents: config.sessionLogs };
  if (openaiRealtime !== undefined) more.push(createOpenAiRealtimeEngine({ settings: openaiRealtime, ...common }));
  if (pipeline !== undefined) more.push(createPipelineEngine({ settings: pipeline, ...common }));
  const chosen = [offline, ...more].find(({ name }) => name === byDefault);
  if (chosen === undefined)
    throw new Error(`ENGINE=${byDefault} cannot be used, because the API keys of its provider are not set.`);
  return createEngines({ defaultEngine: chosen, testEngine: offline, otherEngines: more });
}
