import type { StageProtocols } from '../../../kernel/conversation/settings-support.js';
import { omitUndefined } from '../../../kernel/omit-undefined.js';
import { withoutTrailing } from '../../../kernel/text.js';
import type { EngineVariables } from './engine-variables.js';
import { FALLBACK_NUMBERS, type FallbackNumber } from './fallback-variables.js';
import {
  LLM_PROVIDERS,
  protocolOf,
  STT_PROVIDERS,
  TTS_PROVIDERS,
  type LlmProviderName,
  type ProviderEntry,
  type ProviderKey,
  type SttProviderName,
  type TtsProviderName,
} from './engine-providers.js';

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
  stt: ProviderAccount & { provider: SttProviderName };
  llm: ProviderAccount & { provider: LlmProviderName; reasoningEffort?: string };
  tts: ProviderAccount & {
    provider: TtsProviderName;
    /** The provider's voice id for each of our voices. */
    voices: Record<string, string>;
    /** The provider's voice id for voices that are not in `voices`. Absent if `voices` is empty. */
    defaultVoice: string | undefined;
  };
}

/** @throws Error if only some of the engine's API keys are set, or none although it is the default engine */
export function pipelineSettings(values: EngineVariables): PipelineSettings | undefined {
  const [stt, llm, tts] = [
    STT_PROVIDERS[values.STT_PROVIDER],
    LLM_PROVIDERS[values.LLM_PROVIDER],
    TTS_PROVIDERS[values.TTS_PROVIDER],
  ];
  const [sttUrl, llmUrl, ttsUrl] = [
    values.STT_BASE_URL ?? stt.baseUrl,
    values.LLM_BASE_URL ?? llm.baseUrl,
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
    const needs = `TTS_PROVIDER=${values.TTS_PROVIDER} needs TTS_MODEL: a model of the server at TTS_BASE_URL.`;
    throw new Error('modelHint' in tts ? `${needs} ${tts.modelHint}` : needs);
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
      model: values.LLM_MODEL ?? llm.model,
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

/** The protocols of the first providers, by which settings of agents are supported or not. */
export function stageProtocolsOf({ stt, llm, tts }: Pick<PipelineSettings, 'stt' | 'llm' | 'tts'>): StageProtocols {
  return { stt: protocolOf('stt', stt), llm: protocolOf('llm', llm), tts: protocolOf('tts', tts) };
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
function fallbackAccount({ name, value }: Fallback, own: ProviderEntry) {
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
  const provider = fallback.value('PROVIDER') as SttProviderName;
  const own = STT_PROVIDERS[provider];
  return { provider, ...fallbackAccount(fallback, own), model: fallback.value('MODEL') ?? own.model };
}

function llmFallback(fallback: Fallback): PipelineSettings['llm'] {
  const provider = fallback.value('PROVIDER') as LlmProviderName;
  const effort = fallback.value('REASONING_EFFORT');
  return {
    provider,
    ...fallbackAccount(fallback, LLM_PROVIDERS[provider]),
    model: required(fallback, 'MODEL'),
    ...(effort === undefined ? {} : { reasoningEffort: effort }),
  };
}

function ttsFallback(fallback: Fallback): PipelineSettings['tts'] {
  const provider = fallback.value('PROVIDER') as TtsProviderName;
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
  provider: ProviderEntry & { key: ProviderKey },
  address: string,
): ProviderKey[] {
  return values[provider.key] !== undefined || needsNoKey(provider, address) ? [] : [provider.key];
}

function needsNoKey({ baseUrl, keyIsOptional }: ProviderEntry, address: string): boolean {
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
