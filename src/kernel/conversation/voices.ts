import { ENGINE_NAMES, type EngineName } from './engines.js';

/** A voice, with the name by which customers select it. Each engine uses its most similar voice. */
export interface Voice {
  name: string;
  description: string;
  /** Languages of the voice by engine. Engines that do not offer the voice are missing. */
  languages: Readonly<Partial<Record<EngineName, readonly string[]>>>;
}

export interface Language {
  tag: string;
  name: string;
}

/** Languages that every model used here understands, writes and speaks. Some models support more. */
export const LANGUAGES: readonly Language[] = [
  { tag: 'en-US', name: 'English (United States)' },
  { tag: 'en-GB', name: 'English (United Kingdom)' },
  { tag: 'de-DE', name: 'German' },
  { tag: 'es-ES', name: 'Spanish (Spain)' },
  { tag: 'es-MX', name: 'Spanish (Mexico)' },
  { tag: 'fr-FR', name: 'French' },
  { tag: 'hi-IN', name: 'Hindi' },
  { tag: 'it-IT', name: 'Italian' },
  { tag: 'ja-JP', name: 'Japanese' },
  { tag: 'nl-NL', name: 'Dutch' },
  { tag: 'pt-BR', name: 'Portuguese (Brazil)' },
];

const ALL = LANGUAGES.map(({ tag }) => tag);
const EVERYWHERE = { 'openai-realtime': ALL, pipeline: ALL, 'offline-demo': ['en-US'] };

export const VOICES: readonly Voice[] = [
  { name: 'amber', description: 'Female, clear, calm', languages: EVERYWHERE },
  { name: 'cobalt', description: 'Male, deep', languages: EVERYWHERE },
  { name: 'slate', description: 'Male, British', languages: EVERYWHERE },
  { name: 'copper', description: 'Male, plain', languages: EVERYWHERE },
];

/**
 * Returns a message that says why this voice cannot be used in this language, and that starts with the invalid field.
 * Returns undefined when at least one of the engines supports the combination.
 */
export function voiceFault(
  wanted: { voice: string; language: string },
  engines: readonly EngineName[] = ENGINE_NAMES,
  voices: readonly Voice[] = VOICES,
): string | undefined {
  const offered = voices.filter((voice) => engines.some((engine) => voice.languages[engine] !== undefined));
  const voice = offered.find(({ name }) => name === wanted.voice);
  const on = `the engine${engines.length === 1 ? '' : 's'} ${engines.join(', ')}`;
  if (voice === undefined) {
    return `voice: ${wanted.voice} is not available on ${on}; use one of ${offered.map(({ name }) => name).join(', ')}`;
  }
  const spoken = new Set(engines.flatMap((engine) => voice.languages[engine] ?? []));
  if (!spoken.has(wanted.language)) {
    return `language: the voice ${wanted.voice} does not speak ${wanted.language} on ${on}; use one of ${[...spoken].join(', ')}`;
  }
  return undefined;
}

/** Lists the voices of the given engines, each with its engines and languages. */
export function voicesOf(engines: readonly EngineName[], voices: readonly Voice[] = VOICES) {
  return voices
    .map(({ name, description, languages }) => ({
      name,
      description,
      engines: engines.flatMap((engine) => {
        const spoken = languages[engine];
        return spoken === undefined ? [] : [{ engine, languages: [...spoken] }];
      }),
    }))
    .filter((voice) => voice.engines.length > 0);
}

/** Lists the languages of the given engines, each with the engines and voices that speak it. */
export function languagesOf(engines: readonly EngineName[], voices: readonly Voice[] = VOICES) {
  return LANGUAGES.map(({ tag, name }) => ({
    tag,
    name,
    engines: engines.flatMap((engine) => {
      const speaking = voices.filter((voice) => voice.languages[engine]?.includes(tag)).map((voice) => voice.name);
      return speaking.length === 0 ? [] : [{ engine, voices: speaking }];
    }),
  })).filter((language) => language.engines.length > 0);
}
