import { offeredEngineNames, type Config } from '../../config.js';
import { languageListOf, voiceListOf } from '../../contract/voices.js';
import { languagesOf, voicesOf } from '../../domain/voices.js';
import type { Output } from '../output.js';

export async function listVoices(config: Config, out: Output): Promise<void> {
  const { voices } = voiceListOf(config.engines.byDefault, voicesOf(offeredEngineNames(config)));
  const shown = voices.flatMap(({ voice, description, engines }) =>
    engines.map(({ engine, languages }) => ({ voice, description, engine, languages: languages.join(' ') })),
  );
  await out.table(
    voices,
    { voice: 'Voice', description: 'Description', engine: 'Engine', languages: 'Languages' },
    shown,
  );
}

export async function listLanguages(config: Config, out: Output): Promise<void> {
  const { languages } = languageListOf(config.engines.byDefault, languagesOf(offeredEngineNames(config)));
  const shown = languages.flatMap(({ language, name, engines }) =>
    engines.map(({ engine, voices }) => ({ language, name, engine, voices: voices.join(' ') })),
  );
  await out.table(languages, { language: 'Language', name: 'Name', engine: 'Engine', voices: 'Voices' }, shown);
}
