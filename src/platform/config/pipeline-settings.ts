import { omitUndefined } from '../../kernel/omit-undefined.js';
import { withoutTrailing } from '../../kernel/text.js';
import type { EngineVariables } from './engine-variables.js';
import { FALLBACK_NUMBERS, type FallbackNumber } from './fallback-variables.js';

interface ProviderAccount {
  baseUrl: string;
  /** Empty if a server other than the provider's own needs none. */
  apiKey: string;
  model: string;
}

/** How long each provider may send nothing before it counts as lost, in ms. */
export interface PipelineTimeouts {
  llmMs?: number;
  ttsMs?: number;
  sttMs?: number;
}

/** Settings of the `pipeline` engine's three providers: speech to text, LLM and text to speech. */
export interface PipelineSettings {
  /** The providers that take over if the first one fails, in order. */
  fallbacks?: { [Stage in 'stt' | 'llm' | 'tts']: readonly PipelineSettings[Stage][] };
  timeouts?: PipelineTimeouts;
  stt: ProviderAccount & { provider: 'deepgram' | 'openai' };
  llm: ProviderAccount & { provider: 'openai' | 'openai-responses'; reasoningEffort?: string };
  tts: ProviderAccount & {
    provider: 'elevenlabs' | 'openai';
    /** The provider's voice id for each of our voices. */
    voices: Record<string, string>;
    /** The provider's voice id for voices that are not in `voices`. Absent if `voices` is empty. */
    defaultVoice: string | undefined;
  };
}

type ProviderKey = 'DEEPGRAM_API_KEY' | 'STT_API_KEY' | 'LLM_API_KEY' | 'ELEVENLABS_API_KEY' | 'TTS_API_KEY';

/** A provider as it is used without further settings. */
interface ProviderDefaults {
  key: ProviderKey;
  /** Its scheme is that of every server with this protocol. */
  baseUrl: string;
  model: string;
  /** Whether other servers with this protocol may need no key. */
  keyIsOptional?: boolean;
}

const STT_PROVIDERS = {
  deepgram: { key: 'DEEPGRAM_API_KEY', baseUrl: 'wss://api.deepgram.com', model: 'nova-3' },
  openai: {
    key: 'STT_API_KEY',
    baseUrl: 'https://api.openai.com/v1',
    model: 'gpt-transcribe',
    keyIsOptional: true,
  },
} as const satisfies Record<PipelineSettings['stt']['provider'], ProviderDefaults>;

const OPENAI_LLM = { key: 'LLM_API_KEY', baseUrl: 'https://api.openai.com/v1', keyIsOptional: true } as const;

const LLM_PROVIDERS = { openai: OPENAI_LLM, 'openai-responses': OPENAI_LLM } as const satisfies Record<
  PipelineSettings['llm']['provider'],
  Omit<ProviderDefaults, 'model'>
>;

const TTS_PROVIDERS = {
  elevenlabs: {
    key: 'ELEVENLABS_API_KEY',
    baseUrl: 'wss://api.elevenlabs.io',
    model: 'eleven_flash_v2_5',
    // No voice belongs to every account. Without TTS_VOICES, media processes use voices that the account has.
    defaultVoice: undefined,
    voices: {},
  },
  openai: {
    key: 'TTS_API_KEY',
    keyIsOptional: true,
    baseUrl: 'https://api.openai.com/v1',
    // No default: OpenAI shuts down all its models for /audio/speech on 2027-01-06 and offers no successor there
    // (SpeechModel in the npm package openai 7.57.0; https://developers.openai.com/api/docs/guides/text-to-speech).
    model: undefined,
    defaultVoice: 'coral',
    voices: { cobalt: 'onyx', slate: 'ash', copper: 'echo' },
  },
} as const;

/** @throws Error if only some of the engine's API keys are set, or none although it is the default engine */
export function pipelineSettings(values: EngineVariables): PipelineSettings | undefined {
  const [stt, llm, tts] = [
    STT_PROVIDERS[values.STT_PROVIDER],
    LLM_PROVIDERS[values.LLM_PROVIDER],
    TTS_PROVIDERS[values.TTS_PROVIDER],
  ];
  const [sttUrl, llmUrl, ttsUrl] = [
    values.STT_BASE_URL ?? stt.baseUrl,
    values.LLM_BASE_URL,
    values.TTS_BASE_URL ?? tts.baseUrl,
  ];
  const missing = [
    ...missingKey(values, stt, sttUrl),
    ...missingKey(values, llm, llmUrl),
    ...missingKey(values, tts, ttsUrl),
  ];
  if (missing.length > 0) {
    const hasKey = [stt, llm, tts].some(({ key }) => values[key] !== undefined);
    const hasFallback = Object.entries(values).some(
      ([name, value]) => /^(STT|LLM|TTS)_\d_/.test(name) && value !== undefined,
    );
    if (!hasKey && !hasFallback && values.ENGINE !== 'pipeline') return undefined;
    const who = values.ENGINE === 'pipeline' ? 'ENGINE=pipeline' : 'The pipeline engine';
    const sttProvider = values.STT_PROVIDER === 'deepgram' ? '' : `STT_PROVIDER=${values.STT_PROVIDER} and `;
    throw new Error(`${who} needs ${missing.join(' and ')} with ${sttProvider}TTS_PROVIDER=${values.TTS_PROVIDER}.`);
  }
  assertScheme('STT_', values.STT_PROVIDER, sttUrl, stt.baseUrl);
  assertScheme('TTS_', values.TTS_PROVIDER, ttsUrl, tts.baseUrl);
  const ttsModel = values.TTS_MODEL ?? tts.model;
  if (ttsModel === undefined) {
    throw new Error(
      'TTS_PROVIDER=openai needs TTS_MODEL: a model of the server at TTS_BASE_URL. OpenAI itself stops its speech models on 2027-01-06.',
    );
  }
  const account = ({ key }: { key: ProviderKey }, address: string) => ({
    baseUrl: bare(address),
    apiKey: values[key] ?? '',
  });
  const voices = Object.fromEntries(list(values.TTS_VOICES).map(textPairOf));
  return {
    stt: { provider: values.STT_PROVIDER, ...account(stt, sttUrl), model: values.STT_MODEL ?? stt.model },
    llm: {
      provider: values.LLM_PROVIDER,
      ...account(llm, llmUrl),
      model: values.LLM_MODEL,
      ...reasoningOf(values),
    },
    tts: {
      provider: values.TTS_PROVIDER,
      ...account(tts, ttsUrl),
      model: ttsModel,
      voices: { ...tts.voices, ...voices },
      defaultVoice: tts.defaultVoice ?? Object.values(voices)[0],
    },
    ...chainSettings(values),
  };
}

function chainSettings(values: EngineVariables): Required<Pick<PipelineSettings, 'fallbacks' | 'timeouts'>> {
  return {
    fallbacks: {
      stt: fallbacksOf('STT', values, sttFallback),
      llm: fallbacksOf('LLM', values, llmFallback),
      tts: fallbacksOf('TTS', values, ttsFallback),
    },
    timeouts: omitUndefined({
      sttMs: values.STT_TIMEOUT_MS,
      llmMs: values.LLM_TIMEOUT_MS,
      ttsMs: values.TTS_TIMEOUT_MS,
    }),
  };
}

type Stage = 'STT' | 'LLM' | 'TTS';

/** The variables of one alternative, by the end of their names. */
interface Fallback {
  name: (field: string) => string;
  value: (field: string) => string | undefined;
}

/** @throws Error if a number is skipped, or an alternative has no provider */
function fallbacksOf<T>(stage: Stage, values: EngineVariables, read: (fallback: Fallback) => T): T[] {
  const settings: Readonly<Record<string, unknown>> = values;
  const all = FALLBACK_NUMBERS.map((number: FallbackNumber): Fallback & { isSet: boolean; number: number } => {
    const name = (field: string) => `${stage}_${number}_${field}`;
    const isSet = Object.keys(settings).some((key) => key.startsWith(name('')) && settings[key] !== undefined);
    return { number, name, value: (field) => settings[name(field)] as string | undefined, isSet };
  });
  const lastIndex = all.findLastIndex(({ isSet }) => isSet);
  return all.slice(0, lastIndex + 1).map((fallback) => {
    if (fallback.value('PROVIDER') !== undefined) return read(fallback);
    const why = fallback.isSet ? 'its other variables are' : `${stage}_${fallback.number + 1}_PROVIDER is`;
    throw new Error(`${fallback.name('PROVIDER')} must be set if ${why} set.`);
  });
}

/** @throws Error if the provider needs a key that is not set, or its address has the wrong scheme */
function fallbackAccount({ name, value }: Fallback, own: Omit<ProviderDefaults, 'key' | 'model'>) {
  const address = value('BASE_URL') ?? own.baseUrl;
  const apiKey = value('API_KEY');
  if (apiKey === undefined && !needsNoKey(own, address)) {
    throw new Error(`${name('API_KEY')} must be set for ${name('PROVIDER')}=${value('PROVIDER')}.`);
  }
  assertScheme(name(''), value('PROVIDER') ?? '', address, own.baseUrl);
  return { baseUrl: bare(address), apiKey: apiKey ?? '' };
}

function required({ name, value }: Fallback, field: string): string {
  const given = value(field);
  if (given !== undefined) return given;
  throw new Error(`${name(field)} must be set for ${name('PROVIDER')}=${value('PROVIDER')}.`);
}

function sttFallback(fallback: Fallback): PipelineSettings['stt'] {
  const provider = fallback.value('PROVIDER') as PipelineSettings['stt']['provider'];
  const own = STT_PROVIDERS[provider];
  return { provider, ...fallbackAccount(fallback, own), model: fallback.value('MODEL') ?? own.model };
}

function llmFallback(fallback: Fallback): PipelineSettings['llm'] {
  const provider = fallback.value('PROVIDER') as PipelineSettings['llm']['provider'];
  const effort = fallback.value('REASONING_EFFORT');
  return {
    provider,
    ...fallbackAccount(fallback, LLM_PROVIDERS[provider]),
    model: required(fallback, 'MODEL'),
    ...(effort === undefined ? {} : { reasoningEffort: effort }),
  };
}

function ttsFallback(fallback: Fallback): PipelineSettings['tts'] {
  const provider = fallback.value('PROVIDER') as PipelineSettings['tts']['provider'];
  const own = TTS_PROVIDERS[provider];
  // There is no default: a voice that the operator did not choose would begin in the middle of a call.
  const voices = Object.fromEntries(list(required(fallback, 'VOICES')).map(textPairOf));
  return {
    provider,
    ...fallbackAccount(fallback, own),
    model: fallback.value('MODEL') ?? own.model ?? required(fallback, 'MODEL'),
    voices,
    defaultVoice: Object.values(voices)[0],
  };
}

/** The key that is needed to use a provider at this address, if it is not set. */
function missingKey(
  values: EngineVariables,
  provider: Omit<ProviderDefaults, 'model'>,
  address: string,
): ProviderKey[] {
  return values[provider.key] !== undefined || needsNoKey(provider, address) ? [] : [provider.key];
}

function needsNoKey({ baseUrl, keyIsOptional }: Omit<ProviderDefaults, 'key' | 'model'>, address: string): boolean {
  return keyIsOptional === true && new URL(address).host !== new URL(baseUrl).host;
}

/**
 * @param prefix the beginning of the names of the provider's variables, such as `STT_2_`
 * @throws Error if the scheme is neither the provider's own nor the same without TLS
 */
function assertScheme(prefix: string, provider: string, address: string, own: string): void {
  const { protocol } = new URL(own);
  const plain = protocol.replace('s:', ':');
  if ([protocol, plain].includes(new URL(address).protocol)) return;
  throw new Error(`${prefix}BASE_URL must begin with ${protocol}// or ${plain}// if ${prefix}PROVIDER=${provider}.`);
}

/** The reasoning effort, if the operator chose one. */
export function reasoningOf({ LLM_REASONING_EFFORT: reasoningEffort }: EngineVariables): { reasoningEffort?: string } {
  return reasoningEffort === undefined ? {} : { reasoningEffort };
}

/** Splits `name=value`. */
export function textPairOf(item: string): [name: string, value: string] {
  const [name = '', value = ''] = item.split('=');
  return [name, value];
}

function bare(address: string): string {
  return withoutTrailing(address, '/');
}

/** Splits a comma-separated list. */
export function list(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);
}
