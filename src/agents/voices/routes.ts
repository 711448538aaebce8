import { configuredVoices, offeredEngineNames, type Config } from '../../platform/config/config.js';
import { languageListOf, voiceListOf, type voiceRoutes } from './contract.js';
import { languagesOf, voicesOf } from '../../kernel/conversation/voices.js';
import type { Handlers } from '../../platform/http/routing/handlers.js';

/** Creates the handlers of GET /voices and GET /languages. */
export function createVoiceHandlers({ config }: { config: Config }): Handlers<typeof voiceRoutes> {
  const { byDefault } = config.engines;
  const engines = offeredEngineNames(config);
  const configured = configuredVoices(config);
  const voices = voiceListOf(byDefault, voicesOf(engines, configured));
  const languages = languageListOf(byDefault, languagesOf(engines, configured));
  return { listVoices: () => voices, listLanguages: () => languages };
}
