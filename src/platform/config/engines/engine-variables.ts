import { z } from 'zod';
import { ENGINE_NAMES } from '../../../kernel/conversation/engines.js';
import { fallbackVariables, REASONING_EFFORT, VOICE_IDS } from './fallback-variables.js';
import {
  keysOf,
  LLM_PROVIDERS,
  namesIn,
  STT_PROVIDERS,
  TTS_PROVIDERS,
  type ProviderEntry,
} from './engine-providers.js';

const url = z.url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' });

/**
 * Environment variables of the engines. OpenAI's models are ones without an announced shutdown in the types of the npm
 * package `openai` 7.57.0 (ChatModel, RealtimeSessionCreateRequest, AudioTranscription).
 */
export const engineVariables = {
  ENGINE: z.enum(ENGINE_NAMES).default('offline-demo').meta({
    description:
      'engine of live calls whose agent names none: `offline-demo`, [`openai-realtime`](engines.md#openai-realtime) or [`pipeline`](engines.md#pipeline)',
    production: 'openai-realtime',
  }),
  TEST_MODE_ENGINE: z.enum(ENGINE_NAMES).optional().meta({
    description:
      '[engine of test calls](engines.md#engine-of-test-calls) whose agent names none. With `offline-demo`, all test calls use it, and cost nothing. Another one needs `TEST_DAILY_SPEND_CAP_USD` in production',
    shown:
      '`ENGINE` if set, else one whose keys are set, else `offline-demo`; in production without cap `offline-demo`',
  }),
  TEST_DAILY_SPEND_CAP_USD: z
    .string()
    .regex(/^\d{1,9}(?:\.\d{1,6})?$/, 'must be an amount of USD like 5')
    .optional()
    .describe(
      'USD of test calls, at the prices of live calls, that an account may use in a UTC day with an engine other than `offline-demo`, and the maximum that these engines may cost in that day before further test calls are rejected',
    ),
  ENGINE_PRICES: z
    .string()
    .regex(
      /^(\s*[a-z0-9_]+=\d+(\.\d+)?\s*(,|$))*$/,
      'must be a comma-separated list of prices, like realtime_output_audio_tokens=64',
    )
    .default('')
    .describe(
      '[price of each unit of usage](engines.md#what-it-costs) in micro-USD, from which a call’s engine cost is computed',
    ),
  OPENAI_API_KEY: z.string().min(1).optional().meta({
    description: 'turns on `openai-realtime`; required by `ENGINE=openai-realtime`',
    production: '',
    secret: 'given',
  }),
  OPENAI_BASE_URL: url
    .default('https://api.openai.com/v1')
    .meta({ description: 'base URL of OpenAI’s interfaces or of a compatible server', shown: 'OpenAI’s' }),
  OPENAI_REALTIME_MODEL: z.string().min(1).default('gpt-realtime-2.1').describe('model that conducts the conversation'),
  OPENAI_TRANSCRIPTION_MODEL: z.string().min(1).default('gpt-transcribe').describe('model that transcribes the caller'),
  OPENAI_CONCLUSION_MODEL: z
    .string()
    .min(1)
    .default('gpt-6-luna')
    .describe('model that summarizes a call and extracts its output parameters'),
  OPENAI_TURN_DETECTION: z
    .enum(['server_vad', 'semantic_vad'])
    .default('server_vad')
    .describe(
      'how the end of the caller’s turn is detected: by silence with `server_vad`, by meaning with `semantic_vad`',
    ),
  OPENAI_VAD_SILENCE_MS: z.coerce
    .number()
    .int()
    .min(200)
    .max(3_000)
    .default(500)
    .describe('milliseconds of silence that end a turn with `server_vad`'),
  OPENAI_VAD_EAGERNESS: z
    .enum(['low', 'medium', 'high', 'auto'])
    .default('auto')
    .describe('how soon `semantic_vad` ends a turn: `low`, `medium`, `high` or `auto`'),
  STT_PROVIDER: z
    .enum(namesIn(STT_PROVIDERS))
    .default('deepgram')
    .describe(
      `speech to text of \`pipeline\`: ${choiceOf(STT_PROVIDERS)}. [\`pipeline\`](engines.md#pipeline) is on if each of its three providers has its key or needs none`,
    ),
  ...keyVariables('STT_PROVIDER', 'speech to text', STT_PROVIDERS),
  STT_BASE_URL: z.url().optional().meta({ description: 'base URL of speech to text', shown: 'the provider’s own' }),
  STT_MODEL: z
    .string()
    .min(1)
    .optional()
    .meta({
      description:
        'model of speech to text. A `flux-…` model of Deepgram detects the end of a turn by meaning. One that ends in `-en` understands English only, and agents with other languages are rejected',
      shown: modelsOf(STT_PROVIDERS),
    }),
  LLM_PROVIDER: z
    .enum(namesIn(LLM_PROVIDERS))
    .default('openai')
    .describe(`protocol of the language model of \`pipeline\`: ${choiceOf(LLM_PROVIDERS)}`),
  ...keyVariables('LLM_PROVIDER', 'the language model of `pipeline`', LLM_PROVIDERS),
  LLM_BASE_URL: url.optional().meta({
    description: 'base URL of the language model of `pipeline`: any OpenAI-compatible server',
    shown: 'OpenAI’s',
  }),
  LLM_MODEL: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'language model of `pipeline`', shown: modelsOf(LLM_PROVIDERS) }),
  LLM_REASONING_EFFORT: REASONING_EFFORT.optional().meta({
    description:
      '`reasoning_effort` of `LLM_MODEL` and `OPENAI_CONCLUSION_MODEL`: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`. With tools, current OpenAI models accept only `none` on `/chat/completions`',
    shown: '`none` for the families `gpt-5.6` and `gpt-6`, else not sent',
  }),
  TTS_PROVIDER: z
    .enum(namesIn(TTS_PROVIDERS))
    .default('elevenlabs')
    .describe(`text to speech of \`pipeline\`: ${choiceOf(TTS_PROVIDERS)}`),
  ...keyVariables('TTS_PROVIDER', 'text to speech', TTS_PROVIDERS),
  TTS_BASE_URL: z.url().optional().meta({ description: 'base URL of text to speech', shown: 'the provider’s own' }),
  TTS_MODEL: z
    .string()
    .min(1)
    .optional()
    .meta({
      description: `model of text to speech; required by ${withoutModel('TTS_PROVIDER', TTS_PROVIDERS)}`,
      shown: modelsOf(TTS_PROVIDERS),
    }),
  TTS_VOICES: VOICE_IDS.default('').meta({
    description:
      'the provider’s id for each voice, such as `amber=…,cobalt=…`. With `elevenlabs`, the other voices use the first id; by default, [voices of the account](engines.md#voices-of-elevenlabs) are used',
    shown: 'OpenAI’s voices, or those of the ElevenLabs account',
  }),
  AGENT_MODELS: z
    .string()
    .regex(
      /^(any|(\s*[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}\s*(,|$))*)$/,
      'must be any, or a comma-separated list of models',
    )
    .optional()
    .meta({
      description:
        'models that agents may name in `model` besides those configured here: a comma-separated list, or `any`. `ENGINE_PRICES` are the same for all models, so list only models that these prices cover',
      shown: '`any` with the simulated carrier outside production, else none',
    }),
  ACCOUNT_TOKENS_PER_MINUTE: z.coerce.number().int().min(0).max(1_000_000_000).optional().meta({
    description:
      '[tokens of language models](engines.md#tokens-per-minute) that the live calls of one account may use per minute in one media process, and its test calls as many; 0: no limit',
    shown: '`2000000`, or 40,000 for each call in progress if that is more',
  }),
  ...fallbackVariables,
  OPENAI_REALTIME_TIMEOUT_MS: z.coerce.number().int().min(500).max(30_000).optional().meta({
    description:
      'milliseconds for which `openai-realtime` may take to connect, to confirm its session, and to begin or continue a reply',
    shown: '`3000` if `pipeline` [can take over](engines.md#alternatives), else `5000`, for replies `8000`',
  }),
  ALLOW_DEMO_ENGINE_ON_LIVE_CALLS: z
    .enum(['true', 'false'])
    .transform((value) => value === 'true')
    .default(false)
    .describe(
      'lets `offline-demo` call real people. Without it, `CARRIER=twilio` requires another `ENGINE`, and agents cannot name `offline-demo`',
    ),
};

export type EngineVariables = z.output<z.ZodObject<typeof engineVariables>>;

type Entries = Record<string, ProviderEntry>;

/** The variables with the keys of a stage's providers. */
function keyVariables<P extends Entries>(choice: string, what: string, providers: P) {
  const all = Object.entries<ProviderEntry>(providers);
  const variables = keysOf(providers).map((key) => {
    const own = all.filter(([, entry]) => entry.key === key);
    const only = own.length === all.length ? '' : ` with ${own.map(([name]) => `\`${choice}=${name}\``).join(' or ')}`;
    const note = own.every(([, { keyIsOptional }]) => keyIsOptional)
      ? `; not needed if \`${choice.replace('PROVIDER', 'BASE_URL')}\` is a server that asks for none`
      : '';
    const description = `key of ${what}${only}${note}`;
    return [key, z.string().min(1).optional().meta({ description, secret: 'given' })];
  });
  return Object.fromEntries(variables) as Record<P[keyof P]['key'], z.ZodOptional<z.ZodString>>;
}

/** Lists the providers of a stage with what they are for. */
function choiceOf(providers: Entries): string {
  const names = Object.entries(providers).map(
    ([name, { about }]) => `\`${name}\`${about === undefined ? '' : ` ${about}`}`,
  );
  return `${names.slice(0, -1).join(', ')}, or ${names.at(-1)}`;
}

/** Lists the models by default. */
function modelsOf(providers: Entries): string {
  const models = new Map<string, string[]>();
  for (const [name, { model }] of Object.entries(providers)) {
    if (model !== undefined) models.set(model, [...(models.get(model) ?? []), `\`${name}\``]);
  }
  const all = Array.from(models, ([model, names]) =>
    names.length === Object.keys(providers).length ? `\`${model}\`` : `\`${model}\` with ${names.join(' or ')}`,
  );
  return all.join(', ');
}

function withoutModel(choice: string, providers: Entries): string {
  const names = Object.entries(providers).flatMap(([name, { model }]) => (model === undefined ? [name] : []));
  return names.map((name) => `\`${choice}=${name}\``).join(' and ');
}
