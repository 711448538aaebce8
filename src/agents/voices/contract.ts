import { z } from 'zod';
import { ENGINE_NAMES } from '../../kernel/conversation/engines.js';
import { defineRoute, rateLimitHeaders } from '../../platform/http/contract/route.js';

const engine = z.enum(ENGINE_NAMES).meta({ description: 'Engine that conducts calls, as in engine of an agent.' });
const voice = z.string().meta({ description: 'Name of the voice, the same on every engine.' });
const language = z.string().meta({ description: 'Language tag (BCP 47).' });
const defaultEngine = engine.meta({ description: 'Engine of live calls whose agent has no engine.' });

export const VoiceList = z
  .object({
    default_engine: defaultEngine,
    voices: z
      .array(
        z.object({
          voice,
          description: z.string().describe('How the voice sounds.'),
          engines: z
            .array(
              z.object({
                engine,
                languages: z.array(language).describe('Languages that the voice speaks on this engine.'),
              }),
            )
            .describe('Engines of this service that have the voice.'),
        }),
      )
      .describe('All voices.'),
  })
  .meta({ id: 'VoiceList' });
export type VoiceList = z.infer<typeof VoiceList>;

export const LanguageList = z
  .object({
    default_engine: defaultEngine,
    languages: z
      .array(
        z.object({
          language,
          name: z.string().describe('Name of the language in English.'),
          engines: z
            .array(
              z.object({ engine, voices: z.array(voice).describe('Voices that speak the language on this engine.') }),
            )
            .describe('Engines of this service that speak the language.'),
        }),
      )
      .describe('All languages.'),
  })
  .meta({ id: 'LanguageList' });
export type LanguageList = z.infer<typeof LanguageList>;

const SCOPE =
  'Voice, language and engine of an agent must fit together as listed. Test mode may have another default engine than live mode; offline-demo speaks English only.';

/** Routes that list the voices and languages available to agents. */
export const voiceRoutes = {
  listVoices: defineRoute({
    method: 'get',
    path: '/voices',
    tag: 'Agents',
    summary: 'List voices',
    description: `Each voice with the engines of this service that have it, and the languages it speaks there. ${SCOPE}`,
    auth: 'keyOrSession',
    success: {
      description: 'The voices.',
      contentType: 'application/json',
      schema: VoiceList,
      examples: {
        voices: {
          default_engine: 'offline-demo',
          voices: [
            {
              voice: 'amber',
              description: 'Female, clear, calm',
              engines: [{ engine: 'offline-demo', languages: ['en-US'] }],
            },
          ],
        } satisfies VoiceList,
      },
      headers: rateLimitHeaders,
    },
    errors: [],
  }),
  listLanguages: defineRoute({
    method: 'get',
    path: '/languages',
    tag: 'Agents',
    summary: 'List languages',
    description: `Each language with the engines of this service that speak it, and their voices. ${SCOPE}`,
    auth: 'keyOrSession',
    success: {
      description: 'The languages.',
      contentType: 'application/json',
      schema: LanguageList,
      examples: {
        languages: {
          default_engine: 'offline-demo',
          languages: [
            {
              language: 'en-US',
              name: 'English (United States)',
              engines: [{ engine: 'offline-demo', voices: ['amber', 'cobalt', 'slate', 'copper'] }],
            },
          ],
        } satisfies LanguageList,
      },
      headers: rateLimitHeaders,
    },
    errors: [],
  }),
};

/** Builds the response body of `GET /voices`. */
export function voiceListOf(
  defaultEngine: VoiceList['default_engine'],
  voices: readonly { name: string; description: string; engines: VoiceList['voices'][number]['engines'] }[],
): VoiceList {
  return {
    default_engine: defaultEngine,
    voices: voices.map(({ name, description, engines }) => ({ voice: name, description, engines })),
  };
}

/** Builds the response body of `GET /languages`. */
export function languageListOf(
  defaultEngine: LanguageList['default_engine'],
  languages: readonly { tag: string; name: string; engines: LanguageList['languages'][number]['engines'] }[],
): LanguageList {
  return {
    default_engine: defaultEngine,
    languages: languages.map(({ tag, name, engines }) => ({ language: tag, name, engines })),
  };
}
