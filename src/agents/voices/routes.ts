import { configuredVoices, engineConfigOf, offeredEngineNames, type Config } from '../../platform/config/config.js';
import { languageListOf, voiceListOf, type voiceRoutes } from './contract.js';
import { languagesOf, voicesOf } from '../../kernel/conversation/voices.js';
import type { RouteHandlers } from '../../identity/access/principal.js';
import type { Mode } from '../../kernel/ids.js';

/** Creates the handlers of GET /voices and GET /languages. */
export function createVoiceHandlers({ config }: { config: Config }): RouteHandlers<typeof voiceRoutes> {
  const configured = configuredVoices(config);
  const listsOf = (mode: Mode) => {
    const ofMode = engineConfigOf(config, mode);
    const { byDefault } = ofMode.engines;
    const engines = offeredEngineNames(ofMode);
    return {
      voices: voiceListOf(byDefault, voicesOf(engines, configured)),
      languages: languageListOf(byDefault, languagesOf(engines, configured)),
    };
  };
  const lists = { live: listsOf('live'), test: listsOf('test') };
  return {
    listVoices: ({ principal: { mode } }) => lists[mode].voices,
    listLanguages: ({ principal: { mode } }) => lists[mode].languages,
  };
}
