import { voiceFault } from '../../kernel/conversation/voices.js';
import type { EngineName } from '../../kernel/conversation/engines.js';
import { allowedModels, configuredVoices, type Config } from '../../platform/config/config.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { createAccountTokens } from './account-tokens.js';
import { withAllowedModels } from './allowed-models.js';
import { createProviderHealth } from './chain/provider-health.js';
import { createEngineWithSuccessor } from './chain/successor-engine.js';
import { createEngines, type Engines } from './engines.js';
import type { EngineCall, EngineFactory } from './port.js';
import { createOfflineEngine } from './offline/index.js';
import { createOpenAiRealtimeEngine } from './realtime/index.js';
import { createPipelineEngine } from './pipeline/index.js';

/** Creates the configured engines. `pipeline` continues calls of `openai-realtime`. */
export function createConfiguredEngines({ config, logger }: { config: Config; logger: Logger }): Engines {
  const { byDefault, forTests, prices, openaiRealtime, pipeline, tokenLimit } = config.engines;
  const report = (error: Error, callId: string) =>
    logger.warn({ callId, err: error }, 'offline engine recovered from an error');
  const offline = createOfflineEngine({ report, recordsEvents: config.sessionLogs });
  const more: EngineFactory[] = [];
  const offer = (engine: EngineFactory, name: EngineName) =>
    more.push(withAllowedModels(engine, allowedModels(config, name)));
  const health = createProviderHealth();
  const tokens = createAccountTokens(tokenLimit);
  const common = { prices, logger, tokens, recordsEvents: config.sessionLogs };
  const second = pipeline && createPipelineEngine({ settings: pipeline, health, ...common });
  const first = openaiRealtime && createOpenAiRealtimeEngine({ settings: openaiRealtime, ...common });
  if (second !== undefined) offer(second, 'pipeline');
  if (first !== undefined && second !== undefined) {
    const voices = configuredVoices(config);
    const fits = (call: EngineCall) => voiceFault(call, ['pipeline'], voices) === undefined;
    offer(createEngineWithSuccessor({ first, second, fits, health, logger }), 'openai-realtime');
  } else if (first !== undefined) offer(first, 'openai-realtime');
  const all = [offline, ...more];
  const find = (variable: string, wanted: string) => {
    const found = all.find(({ name }) => name === wanted);
    if (found !== undefined) return found;
    throw new Error(`${variable}=${wanted} cannot be used, because the API keys of its provider are not set.`);
  };
  const [defaultEngine, testEngine] = [find('ENGINE', byDefault), find('TEST_MODE_ENGINE', forTests)];
  return createEngines({ defaultEngine, testEngine, otherEngines: all });
}
