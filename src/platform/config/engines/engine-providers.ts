import type { EngineName } from '../../../kernel/conversation/engines.js';
import {
  SENT,
  SESSION,
  UNSUPPORTED,
  type PipelineStage,
  type SettingName,
  type SettingProtocol,
  type Support,
} from '../../../kernel/conversation/settings-support.js';

interface SupportOfSetting extends Record<Exclude<EngineName, 'pipeline'>, Support> {
  /** The same for all providers, or decided by the entry of the provider of one stage. */
  pipeline: Support | { stage: PipelineStage };
}

/**
 * Which engine supports which setting. Sources, here and below: the types of the npm packages openai 7.57.0, @deepgram/sdk
 * 5.13.0 and @elevenlabs/elevenlabs-js 2.73.0.
 */
export const SETTINGS_SUPPORT: { readonly [N in SettingName]-?: SupportOfSetting } = {
  model: {
    'openai-realtime': SENT,
    pipeline: { stage: 'llm' },
    'offline-demo': UNSUPPORTED,
  },
  temperature: {
    // `RealtimeSessionCreateRequest` has no temperature; only the sessions of the former beta had one.
    'openai-realtime': UNSUPPORTED,
    pipeline: { stage: 'llm' },
    'offline-demo': UNSUPPORTED,
  },
  reasoningEffort: {
    // `RealtimeReasoningEffort`
    'openai-realtime': { ...SENT, of: ['minimal', 'low', 'medium', 'high', 'xhigh'] },
    pipeline: { stage: 'llm' },
    'offline-demo': UNSUPPORTED,
  },
  voiceId: {
    'openai-realtime': SENT,
    pipeline: { stage: 'tts' },
    'offline-demo': UNSUPPORTED,
  },
  speechSpeed: {
    // `RealtimeAudioConfigOutput`: 0.25 to 1.5
    'openai-realtime': { ...SENT, max: 1.5 },
    pipeline: { stage: 'tts' },
    'offline-demo': UNSUPPORTED,
  },
  keyterms: {
    'openai-realtime': SENT,
    pipeline: { stage: 'stt' },
    'offline-demo': UNSUPPORTED,
  },
  endOfTurnSilenceMs: {
    'openai-realtime': SENT,
    pipeline: { stage: 'stt' },
    'offline-demo': UNSUPPORTED,
  },
  endOfTurnEagerness: {
    'openai-realtime': SENT,
    pipeline: UNSUPPORTED,
    'offline-demo': UNSUPPORTED,
  },
  endOfTurnConfidence: {
    'openai-realtime': UNSUPPORTED,
    pipeline: { stage: 'stt' },
    'offline-demo': UNSUPPORTED,
  },
  vadThreshold: {
    'openai-realtime': SENT,
    // Our own voice activity detection has four steps.
    pipeline: SESSION,
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

/** How a provider of the `pipeline` engine is configured. */
export interface ProviderEntry {
  /** Ends the sentence about the provider in the description of `…_PROVIDER`. */
  about?: string;
  /** The variable with its key, if it is the first provider of its stage. */
  key: string;
  /** Whether other servers with this protocol may need no key. */
  keyIsOptional?: boolean;
  /** The address of the provider's own server. Its scheme is that of every server with this protocol. */
  baseUrl: string;
  /** The model by default; undefined if the operator has to choose one. */
  model: string | undefined;
  /** A sentence for operators who have not chosen a model. */
  modelHint?: string;
  /** Which settings of agents it supports: the protocol whose `models` match, or else the first. */
  protocols: readonly [ProtocolOfModels, ...ProtocolOfModels[]];
}

interface ProtocolOfModels extends SettingProtocol {
  models?: RegExp;
}

interface TtsEntry extends ProviderEntry {
  /** The provider's voice id for each of our voices. `TTS_VOICES` can replace them. */
  voices: Readonly<Record<string, string>>;
  /** The voice id for voices that are not in `voices`. */
  defaultVoice: string | undefined;
}

const OPENAI_URL = 'https://api.openai.com/v1';

/**
 * Deepgram rejects keyterms of more than 500 tokens in all (https://developers.deepgram.com/docs/keyterm). It publishes no
 * tokenizer. Names and codes have about two characters per token (deepgram/deepgram-python-sdk#503).
 */
const DEEPGRAM_KEYTERMS = { ...SENT, maxBytes: 1_000 };

/** Providers of speech to text by their name in `STT_PROVIDER`. */
export const STT_PROVIDERS = {
  deepgram: {
    key: 'DEEPGRAM_API_KEY',
    baseUrl: 'wss://api.deepgram.com',
    model: 'nova-3',
    protocols: [
      { name: 'deepgram-nova', supports: { keyterms: DEEPGRAM_KEYTERMS, endOfTurnSilenceMs: SESSION } },
      {
        name: 'deepgram-flux',
        models: /^flux/,
        // `ListenV2EotTimeoutMs`: 500 to 60000
        supports: {
          keyterms: DEEPGRAM_KEYTERMS,
          endOfTurnSilenceMs: { ...SENT, min: 500 },
          endOfTurnConfidence: SENT,
        },
      },
    ],
  },
  openai: {
    about: 'for an OpenAI-compatible `/audio/transcriptions`, such as a self-hosted Whisper server',
    key: 'STT_API_KEY',
    keyIsOptional: true,
    baseUrl: OPENAI_URL,
    model: 'gpt-transcribe',
    protocols: [{ name: 'openai-transcription', supports: { keyterms: SENT, endOfTurnSilenceMs: SESSION } }],
  },
} as const satisfies Record<string, ProviderEntry & { model: string }>;

const OPENAI_LLM = { key: 'LLM_API_KEY', keyIsOptional: true, baseUrl: OPENAI_URL, model: 'gpt-6-luna' } as const;
const MODEL_SETTINGS = { model: SENT, temperature: SENT, reasoningEffort: SENT };

/** Language models by their name in `LLM_PROVIDER`. */
export const LLM_PROVIDERS = {
  openai: {
    about: 'for `/chat/completions`',
    ...OPENAI_LLM,
    protocols: [{ name: 'openai-chat', supports: MODEL_SETTINGS }],
  },
  'openai-responses': {
    about: 'for `/responses`',
    ...OPENAI_LLM,
    protocols: [{ name: 'openai-responses', supports: MODEL_SETTINGS }],
  },
} as const satisfies Record<string, ProviderEntry & { model: string }>;

/** Providers of text to speech by their name in `TTS_PROVIDER`. */
export const TTS_PROVIDERS = {
  elevenlabs: {
    key: 'ELEVENLABS_API_KEY',
    baseUrl: 'wss://api.elevenlabs.io',
    model: 'eleven_flash_v2_5',
    // No voice belongs to every account. Without TTS_VOICES, media processes use voices that the account has.
    defaultVoice: undefined,
    voices: {},
    // `RealtimeVoiceSettings`: 0.7 to 1.2
    protocols: [{ name: 'elevenlabs', supports: { voiceId: SENT, speechSpeed: { ...SENT, min: 0.7, max: 1.2 } } }],
  },
  openai: {
    about: 'for an OpenAI-compatible `/audio/speech`',
    key: 'TTS_API_KEY',
    keyIsOptional: true,
    baseUrl: OPENAI_URL,
    // OpenAI shuts down all its models for /audio/speech on 2027-01-06 and offers no successor there (SpeechModel in the
    // npm package openai 7.57.0; https://developers.openai.com/api/docs/guides/text-to-speech).
    model: undefined,
    modelHint: 'OpenAI itself stops its speech models on 2027-01-06.',
    defaultVoice: 'coral',
    voices: { cobalt: 'onyx', slate: 'ash', copper: 'echo' },
    // `SpeechCreateParams`: 0.25 to 4, more than the field
    protocols: [{ name: 'openai-speech', supports: { voiceId: SENT, speechSpeed: SENT } }],
  },
} as const satisfies Record<string, TtsEntry>;

export type SttProviderName = keyof typeof STT_PROVIDERS;
export type LlmProviderName = keyof typeof LLM_PROVIDERS;
export type TtsProviderName = keyof typeof TTS_PROVIDERS;
type KeyOf<T extends Record<string, ProviderEntry>> = T[keyof T]['key'];
export type ProviderKey = KeyOf<typeof STT_PROVIDERS> | KeyOf<typeof LLM_PROVIDERS> | KeyOf<typeof TTS_PROVIDERS>;

const BY_STAGE: Readonly<Record<PipelineStage, Record<string, ProviderEntry>>> = {
  stt: STT_PROVIDERS,
  llm: LLM_PROVIDERS,
  tts: TTS_PROVIDERS,
};

/** The protocols that the providers of each stage have. */
export const PIPELINE_PROTOCOLS: Readonly<Record<PipelineStage, readonly SettingProtocol[]>> = {
  stt: protocolsOf(STT_PROVIDERS),
  llm: protocolsOf(LLM_PROVIDERS),
  tts: protocolsOf(TTS_PROVIDERS),
};

/** The protocol that a provider uses for a model. */
export function protocolOf(stage: PipelineStage, account: { provider: string; model: string }): SettingProtocol {
  const { protocols } = entryOf(stage, account.provider);
  return protocols.find(({ models }) => models?.test(account.model)) ?? protocols[0];
}

/** @throws Error if the stage has no such provider, which the schema of the variables excludes */
export function entryOf(stage: PipelineStage, provider: string): ProviderEntry {
  const entry = BY_STAGE[stage][provider];
  if (entry === undefined) throw new Error(`${stage} has no provider ${provider}`);
  return entry;
}

/** The names of the providers of a stage, for the schema of its variables. */
export function namesIn<T extends Record<string, ProviderEntry>>(providers: T) {
  return Object.keys(providers) as [keyof T & string, ...(keyof T & string)[]];
}

/** The variables with the keys of a stage. */
export function keysOf(providers: Record<string, ProviderEntry>): string[] {
  return unique(Object.values(providers).map(({ key }) => key));
}

function protocolsOf(providers: Record<string, ProviderEntry>): SettingProtocol[] {
  return unique(Object.values(providers).flatMap(({ protocols }) => protocols));
}

function unique<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}
