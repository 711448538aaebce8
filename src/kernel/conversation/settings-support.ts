import { byteCount } from '../text.js';
import type { ConversationSettings } from './conversation-settings.js';
import type { EngineName } from './engines.js';

/** The providers of the `pipeline` engine by stage; each is one protocol. */
export const PIPELINE_PROVIDERS = {
  stt: ['deepgram-nova', 'deepgram-flux', 'openai-transcription'],
  llm: ['openai-chat', 'openai-responses'],
  tts: ['elevenlabs', 'openai-speech'],
} as const;

export type PipelineStage = keyof typeof PIPELINE_PROVIDERS;
type ProviderOf<S extends PipelineStage> = (typeof PIPELINE_PROVIDERS)[S][number];
/** The providers that a pipeline uses, one for each stage. */
export type StageProviders = { [S in PipelineStage]: ProviderOf<S> };

/** An engine with one provider, or a provider of the pipeline. */
export type SettingProvider = Exclude<EngineName, 'pipeline'> | ProviderOf<PipelineStage>;
export type SettingName = keyof ConversationSettings;

/**
 * How a setting takes effect: `sent` to the provider, or done by our own `session`. The limits are those of a provider
 * that accepts fewer values than the field.
 */
export interface Support {
  done: 'sent' | 'session' | 'unsupported';
  min?: number;
  max?: number;
  /** The accepted values of a choice. */
  of?: readonly string[];
  /** Maximum bytes in UTF-8 of all texts of a list. */
  maxBytes?: number;
}

const SENT = { done: 'sent' } as const;
const SESSION = { done: 'session' } as const;
const UNSUPPORTED = { done: 'unsupported' } as const;

type OfEveryProvider<S extends PipelineStage> = { stage: S } & Record<ProviderOf<S>, Support>;

interface SupportOfSetting {
  'openai-realtime': Support;
  'offline-demo': Support;
  /** The same for all providers, or decided by the provider of one stage. */
  pipeline: Support | { [S in PipelineStage]: OfEveryProvider<S> }[PipelineStage];
}

/**
 * Deepgram rejects keyterms of more than 500 tokens in all (https://developers.deepgram.com/docs/keyterm). It publishes no
 * tokenizer. Names and codes have about two characters per token (deepgram/deepgram-python-sdk#503).
 */
const DEEPGRAM_KEYTERMS = { ...SENT, maxBytes: 1_000 };

/**
 * Which provider supports which setting. Sources: the types of the npm packages openai 7.57.0, @deepgram/sdk 5.13.0 and
 * @elevenlabs/elevenlabs-js 2.73.0.
 */
export const SETTINGS_SUPPORT: { readonly [N in SettingName]-?: SupportOfSetting } = {
  model: {
    'openai-realtime': SENT,
    pipeline: { stage: 'llm', 'openai-chat': SENT, 'openai-responses': SENT },
    'offline-demo': UNSUPPORTED,
  },
  temperature: {
    // `RealtimeSessionCreateRequest` has no temperature; only the sessions of the former beta had one.
    'openai-realtime': UNSUPPORTED,
    pipeline: { stage: 'llm', 'openai-chat': SENT, 'openai-responses': SENT },
    'offline-demo': UNSUPPORTED,
  },
  reasoningEffort: {
    // `RealtimeReasoningEffort`
    'openai-realtime': { ...SENT, of: ['minimal', 'low', 'medium', 'high', 'xhigh'] },
    pipeline: { stage: 'llm', 'openai-chat': SENT, 'openai-responses': SENT },
    'offline-demo': UNSUPPORTED,
  },
  voiceId: {
    'openai-realtime': SENT,
    pipeline: { stage: 'tts', elevenlabs: SENT, 'openai-speech': SENT },
    'offline-demo': UNSUPPORTED,
  },
  speechSpeed: {
    // `RealtimeAudioConfigOutput`: 0.25 to 1.5. `RealtimeVoiceSettings` of ElevenLabs: 0.7 to 1.2. `SpeechCreateParams`:
    // 0.25 to 4.
    'openai-realtime': { ...SENT, max: 1.5 },
    pipeline: { stage: 'tts', elevenlabs: { ...SENT, min: 0.7, max: 1.2 }, 'openai-speech': SENT },
    'offline-demo': UNSUPPORTED,
  },
  keyterms: {
    'openai-realtime': SENT,
    pipeline: {
      stage: 'stt',
      'deepgram-nova': DEEPGRAM_KEYTERMS,
      'deepgram-flux': DEEPGRAM_KEYTERMS,
      'openai-transcription': SENT,
    },
    'offline-demo': UNSUPPORTED,
  },
  endOfTurnSilenceMs: {
    'openai-realtime': SENT,
    pipeline: {
      stage: 'stt',
      'deepgram-nova': SESSION,
      // `ListenV2EotTimeoutMs`: 500 to 60000
      'deepgram-flux': { ...SENT, min: 500 },
      'openai-transcription': SESSION,
    },
    'offline-demo': UNSUPPORTED,
  },
  endOfTurnEagerness: {
    'openai-realtime': SENT,
    pipeline: UNSUPPORTED,
    'offline-demo': UNSUPPORTED,
  },
  endOfTurnConfidence: {
    'openai-realtime': UNSUPPORTED,
    pipeline: {
      stage: 'stt',
      'deepgram-nova': UNSUPPORTED,
      'deepgram-flux': SENT,
      'openai-transcription': UNSUPPORTED,
    },
    'offline-demo': UNSUPPORTED,
  },
  vadThreshold: {
    'openai-realtime': SENT,
    // Our own VAD has no threshold.
    pipeline: UNSUPPORTED,
    'offline-demo': UNSUPPORTED,
  },
  interruptionMinMs: { 'openai-realtime': SESSION, pipeline: SESSION, 'offline-demo': UNSUPPORTED },
  // OpenAI transcribes a turn only when it has ended.
  interruptionMinWords: { 'openai-realtime': UNSUPPORTED, pipeline: SESSION, 'offline-demo': UNSUPPORTED },
  resumeAfterNoise: { 'openai-realtime': SESSION, pipeline: SESSION, 'offline-demo': UNSUPPORTED },
  noiseReduction: { 'openai-realtime': SENT, pipeline: UNSUPPORTED, 'offline-demo': UNSUPPORTED },
  backgroundSound: { 'openai-realtime': SESSION, pipeline: SESSION, 'offline-demo': SESSION },
  firstSpeaker: { 'openai-realtime': SESSION, pipeline: SESSION, 'offline-demo': SESSION },
  firstMessage: { 'openai-realtime': SENT, pipeline: SESSION, 'offline-demo': SESSION },
  // The prompt of a speech-to-speech model says how words are spoken; text to speech receives changed text.
  pronunciations: { 'openai-realtime': SENT, pipeline: SESSION, 'offline-demo': UNSUPPORTED },
};

/** An engine with the providers of the pipeline, which decide only for the engine `pipeline`. */
export interface SettingEngine {
  engine: EngineName;
  providers?: StageProviders | undefined;
}

/** How an engine supports a setting, and the provider that decides it. */
export function supportOf(setting: SettingName, { engine, providers }: SettingEngine) {
  const support = SETTINGS_SUPPORT[setting];
  if (engine !== 'pipeline') return { by: engine, ...support[engine] };
  const { pipeline } = support;
  if (!('stage' in pipeline)) return { by: engine, ...pipeline };
  const provider = providers?.[pipeline.stage];
  const cell = Object.entries(pipeline).find(([name]) => name === provider)?.[1] as Support | undefined;
  return { by: provider === undefined ? engine : `${engine} with ${provider}`, ...(cell ?? UNSUPPORTED) };
}

/** A setting that an engine does not support with its value. */
export interface SettingFault {
  setting: SettingName;
  /** The settings whose values cause the fault. */
  settings: readonly SettingName[];
  /** One or two sentences without the name of the setting. */
  why: string;
}

/** Lists the settings that an engine does not support, or not with these values. */
export function faultsOfSettings(settings: ConversationSettings, on: SettingEngine): SettingFault[] {
  const given = (Object.keys(SETTINGS_SUPPORT) as SettingName[]).filter((name) => settings[name] !== undefined);
  return [
    ...given.flatMap((setting) => {
      const why = faultOf(setting, settings[setting], on);
      return why === undefined ? [] : [{ setting, settings: [setting], why }];
    }),
    ...conflictsOf(settings, on),
  ];
}

function faultOf(setting: SettingName, value: unknown, on: SettingEngine): string | undefined {
  const { by, ...support } = supportOf(setting, on);
  if (support.done === 'unsupported') return `${by} does not support it; ${remedyFor(setting)}.`;
  const limit = brokenLimit(value, support);
  return limit === undefined ? undefined : `${by} accepts ${limit}.`;
}

/** OpenAI detects the end of a turn either by silence or by meaning. */
function conflictsOf(settings: ConversationSettings, { engine }: SettingEngine): SettingFault[] {
  const bySilence = (['endOfTurnSilenceMs', 'vadThreshold'] as const).filter((name) => settings[name] !== undefined);
  if (engine !== 'openai-realtime' || settings.endOfTurnEagerness === undefined || bySilence.length === 0) return [];
  const why = `${engine} ends a turn by meaning or by silence; remove this setting, or those of silence and voice detection.`;
  return [{ setting: 'endOfTurnEagerness', settings: ['endOfTurnEagerness', ...bySilence], why }];
}

function brokenLimit(value: unknown, { min, max, of, maxBytes }: Support): string | undefined {
  if (typeof value === 'number' && (value < (min ?? value) || value > (max ?? value))) {
    if (min === undefined) return `at most ${max}`;
    return max === undefined ? `at least ${min}` : `only ${min} to ${max}`;
  }
  if (of !== undefined && !of.includes(String(value))) return `only ${of.join(', ')}`;
  if (maxBytes !== undefined && byteCount((value as string[]).join('')) > maxBytes) {
    return `at most ${maxBytes} bytes in UTF-8 for all together`;
  }
  return undefined;
}

function remedyFor(setting: SettingName): string {
  const { pipeline, ...engines } = SETTINGS_SUPPORT[setting];
  const names = [
    ...Object.entries(engines).flatMap(([name, { done }]) => (done === 'unsupported' ? [] : [name])),
    ...pipelinesWith(pipeline),
  ];
  return `remove the setting, or use an engine that supports it: ${names.join(', ')}`;
}

function pipelinesWith(pipeline: SupportOfSetting['pipeline']): string[] {
  if (!('stage' in pipeline)) return pipeline.done === 'unsupported' ? [] : ['pipeline'];
  const { stage: _stage, ...providers } = pipeline;
  const names = Object.entries(providers).flatMap(([name, { done }]) => (done === 'unsupported' ? [] : [name]));
  return names.length === Object.keys(providers).length ? ['pipeline'] : names.map((name) => `pipeline with ${name}`);
}

/** Splits settings into those that an engine uses and the names of those that it ignores. */
export function splitSettings(settings: ConversationSettings, on: SettingEngine) {
  const ignored = faultsOfSettings(settings, on).map(({ setting }) => setting);
  const used = Object.entries(settings).filter(([name]) => !ignored.some((each) => each === name));
  return { used: Object.fromEntries(used) as ConversationSettings, ignored };
}
