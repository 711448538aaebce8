import { configuredVoices, offeredEngineNames, type Config } from '../platform/config/config.js';
import { languageListOf, voiceListOf } from './voices-contract.js';
import { languagesOf, voicesOf } from '../kernel/voices.js';
import type { ApiContext } from '../platform/http/context.js';

/** GET /voices and GET /languages: what agents of this service can speak with. */
export function createVoiceRoutes({ config }: { config: Config }) {
  const { byDefault } = config.engines;
  const engines = offeredEngineNames(config);
  const configured = configuredVoices(config);
  const voices = voiceListOf(byDefault, voicesOf(engines, configured));
  const languages = languageListOf(byDefault, languagesOf(engines, configured));
  return {
    async voices(ctx: ApiContext): Promise<void> {
      ctx.body = voices;
    },

    async languages(ctx: ApiContext): Promise<void> {
      ctx.body = languages;
    },
  };
}
