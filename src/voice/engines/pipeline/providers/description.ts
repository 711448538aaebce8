import type { Dispatcher } from 'undici';
import type {
  LlmProviderName,
  SttProviderName,
  TtsProviderName,
} from '../../../../platform/config/engines/engine-providers.js';
import type { PipelineSettings } from '../../../../platform/config/engines/pipeline-settings.js';
import type { VoiceActivityDetector } from '../../../audio/voice-activity.js';
import type { Ask, Asking } from '../../start-checks/ask.js';
import type { Lookup, ProviderFinding, SettingNames } from '../../start-checks/finding.js';
import type { ChatModel, SpeechToText, TextToSpeech } from '../ports.js';

/** The names of a provider's variables; `voices` exists for text to speech only. */
export type VariableNames = SettingNames & { voices: string };

/** The description of a provider. The file of the provider, or a file of its folder, exports it. */
interface ProviderDescription<Name extends string, Settings> {
  /** The provider's name in the configuration. */
  name: Name;
  /** Asks the provider at start whether it accepts the settings. Only a certain rejection is a fault. */
  check(settings: Omit<Settings, 'provider'>, asking: Asking, names: VariableNames): Promise<ProviderFinding[]>;
}

/** The means of an adapter of STT. */
export interface SttDeps {
  dispatcher: Dispatcher;
  /** Creates voice activity detection for a provider that detects no turns. */
  newDetector: () => VoiceActivityDetector;
  /** How long a transcription may take, in ms. */
  timeoutMs?: number;
  /** Whether a failed request is repeated; not if another provider can take over. */
  isPatient?: boolean;
}

/** The means of an adapter of LLM or TTS. */
export interface ProviderDeps {
  dispatcher: Dispatcher;
  /** How long the provider may send nothing before it counts as lost, in ms. */
  timeoutMs?: number;
}

/** The means of an adapter of LLM. */
export interface LlmDeps extends ProviderDeps {
  /** How long it may take to the first word or tool call, in ms; without it, any event shows that the provider works. */
  firstWithinMs?: number;
}

type SttSettings = PipelineSettings['stt'];
type LlmSettings = PipelineSettings['llm'];
type TtsSettings = PipelineSettings['tts'];

/** A provider of speech to text. */
export interface SttProvider<Name extends SttProviderName = SttProviderName> extends ProviderDescription<
  Name,
  SttSettings
> {
  create(account: Omit<SttSettings, 'provider'>, deps: SttDeps): SpeechToText;
}

/** A provider of language models. */
export interface LlmProvider<Name extends LlmProviderName = LlmProviderName> extends ProviderDescription<
  Name,
  LlmSettings
> {
  create(account: Omit<LlmSettings, 'provider'>, deps: LlmDeps): ChatModel;
  /** Asks whether the provider has the model of an account; absent if it cannot be asked. */
  findModel?: (ask: Ask, account: Omit<LlmSettings, 'provider'>) => Promise<Lookup>;
}

/** A provider of text to speech. */
export interface TtsProvider<Name extends TtsProviderName = TtsProviderName> extends ProviderDescription<
  Name,
  TtsSettings
> {
  create(
    account: Pick<TtsSettings, 'baseUrl' | 'apiKey' | 'model'> & { voiceIdOf(voice: string): string },
    deps: ProviderDeps,
  ): TextToSpeech;
  /** Asks whether the account has a voice; absent if the provider cannot be asked. */
  findVoice?: (ask: Ask, account: Omit<TtsSettings, 'provider'>, voiceId: string) => Promise<Lookup>;
}

/** The providers of each stage by their names in the configuration, which all have one. */
export interface ProviderList {
  stt: { readonly [N in SttProviderName]: SttProvider<N> };
  llm: { readonly [N in LlmProviderName]: LlmProvider<N> };
  tts: { readonly [N in TtsProviderName]: TtsProvider<N> };
}
