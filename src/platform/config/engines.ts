import type { EngineName } from '../../kernel/conversation/engines.js';
import { withoutTrailing } from '../../kernel/text.js';
import { voiceFault, VOICES, type Voice } from '../../kernel/conversation/voices.js';
import type { EngineVariables } from './engine-variables.js';
import { list, pipelineSettings, reasoningOf, textPairOf } from './pipeline-settings.js';

interface EngineConfig {
  engines: ReturnType<typeof engineSettings>;
  carriers: { live: { kind: string } };
}

/** Settings of the `openai-realtime` engine. */
export interface OpenAiRealtimeSettings {
  apiKey: string;
  /** Base URL of the HTTP API; the WebSocket URL is derived from it. */
  baseUrl: string;
  model: string;
  transcriptionModel: string;
  /** Chat model that summarizes a call and extracts its output parameters. */
  conclusionModel: string;
  /** Set if the operator chose the reasoning effort of the chat model. */
  reasoningEffort?: string;
  turnDetection:
    | { type: 'server_vad'; silenceMs: number }
    | { type: 'semantic_vad'; eagerness: 'low' | 'medium' | 'high' | 'auto' };
  /** How long the provider may take to connect or to reply, in ms. */
  timeoutMs?: number;
}

/** @throws Error at start-up if the default engine is not configured, or the pipeline engine only in part */
export function engineSettings(values: EngineVariables) {
  const openaiRealtime = openAiRealtimeSettings(values);
  if (values.ENGINE === 'openai-realtime' && openaiRealtime === undefined) {
    throw new Error('ENGINE=openai-realtime needs OPENAI_API_KEY.');
  }
  const pipeline = pipelineSettings(values);
  return {
    byDefault: values.ENGINE,
    demoOnLiveCalls: values.ALLOW_DEMO_ENGINE_ON_LIVE_CALLS,
    ...(values.AGENT_MODELS === undefined
      ? {}
      : { agentModels: values.AGENT_MODELS === 'any' ? ('any' as const) : list(values.AGENT_MODELS) }),
    /** Prices in micro-USD, by unit of usage. */
    prices: Object.fromEntries(list(values.ENGINE_PRICES).map((item) => pairOf(item))),
    ...(openaiRealtime === undefined ? {} : { openaiRealtime }),
    ...(pipeline === undefined ? {} : { pipeline }),
  };
}

function openAiRealtimeSettings(values: EngineVariables): OpenAiRealtimeSettings | undefined {
  if (values.OPENAI_API_KEY === undefined) return undefined;
  return {
    apiKey: values.OPENAI_API_KEY,
    baseUrl: withoutTrailing(values.OPENAI_BASE_URL, '/'),
    model: values.OPENAI_REALTIME_MODEL,
    transcriptionModel: values.OPENAI_TRANSCRIPTION_MODEL,
    conclusionModel: values.OPENAI_CONCLUSION_MODEL,
    ...reasoningOf(values),
    turnDetection:
      values.OPENAI_TURN_DETECTION === 'server_vad'
        ? { type: 'server_vad', silenceMs: values.OPENAI_VAD_SILENCE_MS }
        : { type: 'semantic_vad', eagerness: values.OPENAI_VAD_EAGERNESS },
    ...(values.OPENAI_REALTIME_TIMEOUT_MS === undefined ? {} : { timeoutMs: values.OPENAI_REALTIME_TIMEOUT_MS }),
  };
}

/** Lists the engines that this configuration can run live calls with. */
export function configuredEngineNames(config: Pick<EngineConfig, 'engines'>): EngineName[] {
  const { openaiRealtime, pipeline } = config.engines;
  return [
    'offline-demo',
    ...(openaiRealtime === undefined ? [] : ['openai-realtime' as const]),
    ...(pipeline === undefined ? [] : ['pipeline' as const]),
  ];
}

/**
 * Lists the voices with their usable languages, which every STT of the chain understands. Deepgram's `flux-…-en` models
 * understand only English.
 */
export function configuredVoices({ engines }: Pick<EngineConfig, 'engines'>): readonly Voice[] {
  const { pipeline: settings } = engines;
  const models = [settings?.stt, ...(settings?.fallbacks?.stt ?? [])].map((stt) => stt?.model ?? '');
  if (!models.some((model) => /^flux-.*-en$/.test(model))) return VOICES;
  return VOICES.map((voice) => {
    const pipeline = voice.languages.pipeline?.filter((tag) => tag.startsWith('en-')) ?? [];
    return { ...voice, languages: { ...voice.languages, pipeline } };
  });
}

/** Lists the engines that an agent may choose: those configured, and allowed on the carrier of live calls. */
export function offeredEngineNames(config: EngineConfig): EngineName[] {
  return configuredEngineNames(config).filter((engine) => engine !== 'offline-demo' || isDemoAllowed(config));
}

/**
 * Returns the models that an agent of an engine may name, or `any`. On a real carrier models cost the operator money,
 * and `ENGINE_PRICES` know only the configured ones, so others must be allowed.
 */
export function allowedModels({ engines, carriers }: EngineConfig, engine: EngineName): 'any' | string[] {
  const byDefault = carriers.live.kind === 'simulator' ? 'any' : [];
  const allowed = engines.agentModels ?? byDefault;
  if (allowed === 'any') return allowed;
  const own = engine === 'pipeline' ? engines.pipeline?.llm.model : engines.openaiRealtime?.model;
  return [...(own === undefined ? [] : [own]), ...allowed];
}

/** Whether the demo engine may be used. It ignores instructions, so on real calls the operator must allow it. */
function isDemoAllowed({ carriers, engines }: EngineConfig): boolean {
  return carriers.live.kind === 'simulator' || engines.demoOnLiveCalls;
}

/** @throws Error if the default engine may not run live calls, or does not support the default voice and language */
export function assertEngineSettings(
  config: EngineConfig & { calls: { defaultVoice: string; defaultLanguage: string } },
): void {
  const { byDefault } = config.engines;
  if (byDefault === 'offline-demo' && !isDemoAllowed(config)) {
    throw new Error(
      'CARRIER=twilio needs an ENGINE that follows instructions: offline-demo is a demonstration with a fixed script. ' +
        'Set ALLOW_DEMO_ENGINE_ON_LIVE_CALLS=true to call real people with it anyway.',
    );
  }
  const { defaultVoice: voice, defaultLanguage: language } = config.calls;
  const fault = voiceFault({ voice, language }, [byDefault], configuredVoices(config));
  if (fault !== undefined) throw new Error(`DEFAULT_VOICE and DEFAULT_LANGUAGE do not fit ENGINE. ${fault}.`);
}

function pairOf(item: string): [name: string, value: number] {
  const [name, value] = textPairOf(item);
  return [name, Number(value)];
}
