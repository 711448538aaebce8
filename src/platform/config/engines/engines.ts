import type { EngineName } from '../../../kernel/conversation/engines.js';
import type { Mode } from '../../../kernel/ids.js';
import { withoutTrailing } from '../../../kernel/text.js';
import { voiceFault, VOICES, type Voice } from '../../../kernel/conversation/voices.js';
import type { EngineVariables } from './engine-variables.js';
import { list, pipelineSettings, reasoningOf, textPairOf } from './pipeline-settings.js';
import { tokenLimitOf } from './token-limit.js';

interface EngineConfig {
  production: boolean;
  engines: ReturnType<typeof engineSettings>;
  carriers: { live: { kind: string; isSimulated: boolean } };
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

/**
 * @param values.NODE_ENV in production, test calls use only engines that cost nothing, unless their cost has a limit
 * @param isEngineGiven whether the operator set ENGINE
 * @throws Error at start-up if an engine is chosen but not configured, or the pipeline engine only in part
 */
export function engineSettings(values: EngineVariables & { NODE_ENV: string }, isEngineGiven: boolean) {
  const openaiRealtime = openAiRealtimeSettings(values);
  if (values.ENGINE === 'openai-realtime' && openaiRealtime === undefined) {
    throw new Error('ENGINE=openai-realtime needs OPENAI_API_KEY.');
  }
  const pipeline = pipelineSettings(values);
  const forTests = testEngineOf(values, { isEngineGiven, openaiRealtime, pipeline });
  return {
    byDefault: values.ENGINE,
    /** The engine of test calls whose agent names none. If it is `offline-demo`, all test calls use it. */
    forTests,
    demoOnLiveCalls: values.ALLOW_DEMO_ENGINE_ON_LIVE_CALLS,
    ...(values.AGENT_MODELS === undefined
      ? {}
      : { agentModels: values.AGENT_MODELS === 'any' ? ('any' as const) : list(values.AGENT_MODELS) }),
    /** Prices in micro-USD, by unit of usage. */
    prices: Object.fromEntries(list(values.ENGINE_PRICES).map((item) => pairOf(item))),
    /** Absent: accounts may use any number of tokens. */
    tokenLimit: tokenLimitOf(values),
    ...(openaiRealtime === undefined ? {} : { openaiRealtime }),
    ...(pipeline === undefined ? {} : { pipeline }),
  };
}

/** @throws Error if the chosen engine is not configured, or may cost the operator any amount in production */
function testEngineOf(
  { ENGINE, TEST_MODE_ENGINE: given, TEST_DAILY_SPEND_CAP_USD: cap, NODE_ENV }: EngineVariables & { NODE_ENV: string },
  found: { isEngineGiven: boolean; openaiRealtime: object | undefined; pipeline: object | undefined },
): EngineName {
  const isUnlimited = NODE_ENV === 'production' && cap === undefined;
  if (given === 'openai-realtime' && found.openaiRealtime === undefined) {
    throw new Error('TEST_MODE_ENGINE=openai-realtime needs OPENAI_API_KEY.');
  }
  if (given === 'pipeline' && found.pipeline === undefined) {
    throw new Error(
      'TEST_MODE_ENGINE=pipeline needs the keys of its speech to text, language model and text to speech.',
    );
  }
  if (given !== undefined && given !== 'offline-demo' && isUnlimited) {
    throw new Error(
      `TEST_MODE_ENGINE=${given} needs TEST_DAILY_SPEND_CAP_USD in production, because accounts do not pay for test calls.`,
    );
  }
  if (given !== undefined) return given;
  if (isUnlimited) return 'offline-demo';
  if (found.isEngineGiven) return ENGINE;
  if (found.openaiRealtime !== undefined) return 'openai-realtime';
  return found.pipeline === undefined ? 'offline-demo' : 'pipeline';
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

/** The configuration by which agents of a mode are checked: the default engine is the one of that mode's calls. */
export function engineConfigOf<C extends Pick<EngineConfig, 'engines'>>(config: C, mode: Mode): C {
  const { engines } = config;
  return mode === 'live' ? config : { ...config, engines: { ...engines, byDefault: engines.forTests } };
}

/**
 * Lists the engines that an agent may choose: those configured, and allowed on the carrier of live calls. The demo engine
 * is offered to test agents where it conducts test calls.
 */
export function offeredEngineNames(config: EngineConfig): EngineName[] {
  const isOffered = (engine: EngineName) =>
    engine !== 'offline-demo' || engine === config.engines.byDefault || isDemoAllowed(config);
  return configuredEngineNames(config).filter(isOffered);
}

/**
 * Returns the models that an agent of an engine may name, or `any`. Models cost the operator money, and `ENGINE_PRICES`
 * know only the configured ones, so others must be allowed in production and on a real carrier.
 */
export function allowedModels({ engines, carriers, production }: EngineConfig, engine: EngineName): 'any' | string[] {
  const byDefault = carriers.live.isSimulated && !production ? 'any' : [];
  const allowed = engines.agentModels ?? byDefault;
  if (allowed === 'any') return allowed;
  const own = engine === 'pipeline' ? engines.pipeline?.llm.model : engines.openaiRealtime?.model;
  return [...(own === undefined ? [] : [own]), ...allowed];
}

/** Whether the demo engine may be used. It ignores instructions, so on real calls the operator must allow it. */
function isDemoAllowed({ carriers, engines }: EngineConfig): boolean {
  return carriers.live.isSimulated || engines.demoOnLiveCalls;
}

/** @throws Error if the default engine may not run live calls, or does not support the default voice and language */
export function assertEngineSettings(
  config: EngineConfig & { calls: { defaultVoice: string; defaultLanguage: string } },
): void {
  const { byDefault, forTests } = config.engines;
  if (byDefault === 'offline-demo' && !isDemoAllowed(config)) {
    throw new Error(
      `CARRIER=${config.carriers.live.kind} needs an ENGINE that follows instructions: offline-demo is a demonstration with a fixed script. ` +
        'Set ALLOW_DEMO_ENGINE_ON_LIVE_CALLS=true to call real people with it anyway.',
    );
  }
  const { defaultVoice: voice, defaultLanguage: language } = config.calls;
  const voices = configuredVoices(config);
  const fault = voiceFault({ voice, language }, [byDefault], voices);
  if (fault !== undefined) throw new Error(`DEFAULT_VOICE and DEFAULT_LANGUAGE do not fit ENGINE. ${fault}.`);
  const ofTests = forTests === 'offline-demo' ? undefined : voiceFault({ voice, language }, [forTests], voices);
  if (ofTests !== undefined) {
    throw new Error(`DEFAULT_VOICE and DEFAULT_LANGUAGE do not fit TEST_MODE_ENGINE. ${ofTests}.`);
  }
}

function pairOf(item: string): [name: string, value: number] {
  const [name, value] = textPairOf(item);
  return [name, Number(value)];
}
