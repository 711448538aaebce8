import type { Config } from '../../config.js';
import type { Logger } from '../../telemetry/logger.js';
import { createEngines, type Engines } from '../engines.js';
import { createOfflineEngine } from './offline/index.js';

/** The engines that the configuration names; test calls always have the offline one. */
export function createConfiguredEngines({ logger }: { config: Config; logger: Logger }): Engines {
  const report = (error: Error) => logger.warn({ err: error }, 'the offline engine had a fault and went on');
  const offline = createOfflineEngine({ report });
  return createEngines({ byDefault: offline, forTests: offline });
}
