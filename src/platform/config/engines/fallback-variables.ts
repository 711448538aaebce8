import { z } from 'zod';
import { LLM_PROVIDERS, namesIn, STT_PROVIDERS, TTS_PROVIDERS } from './engine-providers.js';

export const REASONING_EFFORT = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
/** Ids of self-hosted servers may mix voices, as in `af_bella(2)+af_sky(1)`, or be paths of files. */
export const VOICE_IDS = z
  .string()
  .regex(/^(\s*[\w-]+=[\w.+/():-]+\s*(,|$))*$/, 'must be a comma-separated list of voices, like amber=ID,cobalt=ID');

/** The numbers of the alternatives of a stage. The first provider has no number in its variables. */
export const FALLBACK_NUMBERS = [2, 3] as const;
export type FallbackNumber = (typeof FALLBACK_NUMBERS)[number];

type Numbered<Stage extends string, Fields extends object> = {
  [Field in keyof Fields & string as `${Stage}_${FallbackNumber}_${Field}`]: Fields[Field];
};

const text = z.string().min(1).optional();
const account = { BASE_URL: z.url().optional(), API_KEY: text, MODEL: text };
const deadline = z.coerce.number().int().min(500).max(30_000).optional();

/** Variables of the alternatives, and how long each provider may send nothing. */
export const fallbackVariables = {
  ...numbered('STT', 'speech to text', { PROVIDER: z.enum(namesIn(STT_PROVIDERS)).optional(), ...account }),
  ...numbered('LLM', 'the language model', {
    PROVIDER: z.enum(namesIn(LLM_PROVIDERS)).optional(),
    ...account,
    REASONING_EFFORT: REASONING_EFFORT.optional(),
  }),
  ...numbered('TTS', 'text to speech', {
    PROVIDER: z.enum(namesIn(TTS_PROVIDERS)).optional(),
    ...account,
    VOICES: VOICE_IDS.optional(),
  }),
  STT_TIMEOUT_MS: deadline.meta(timeoutOf('speech to text may send nothing to a person who spoke', '3500')),
  LLM_TIMEOUT_MS: deadline.meta(timeoutOf('the language model may send nothing', '6000')),
  TTS_TIMEOUT_MS: deadline.meta(timeoutOf('text to speech may send no audio', '5000')),
};

function timeoutOf(what: string, alone: string) {
  return { description: `milliseconds for which ${what}`, shown: `\`3000\` with an alternative, else \`${alone}\`` };
}

/** Makes the variables of each alternative of a stage, such as `STT_2_MODEL` and `STT_3_MODEL`. */
function numbered<Stage extends string, Fields extends Record<string, z.ZodType>>(
  stage: Stage,
  what: string,
  fields: Fields,
): Numbered<Stage, Fields> {
  return Object.fromEntries(
    FALLBACK_NUMBERS.flatMap((number) =>
      Object.entries(fields).map(([field, schema]) => [
        `${stage}_${number}_${field}`,
        schema.meta({
          description: descriptionOf(stage, number, field, what),
          ...(field === 'API_KEY' && { secret: 'given' }),
        }),
      ]),
    ),
  ) as Numbered<Stage, Fields>;
}

function descriptionOf(stage: string, number: FallbackNumber, field: string, what: string): string {
  const provider = `\`${stage}_${number}_PROVIDER\``;
  switch (field) {
    case 'PROVIDER':
      return `${number === 2 ? 'second' : 'third'} [provider of ${what}](engines.md#alternatives), with the values of \`${stage}_PROVIDER\``;
    case 'API_KEY':
      return `key of ${provider}; not needed for another server than OpenAI’s`;
    case 'VOICES':
      return `like \`TTS_VOICES\`, for ${provider}, which requires it`;
    default:
      return `like \`${stage}_${field}\`, for ${provider}`;
  }
}
