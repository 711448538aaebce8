import { report } from '../../../platform/telemetry/measurements.js';
import type { ConversationSettings } from '../../../kernel/conversation/conversation-settings.js';
import type { EngineCall } from '../port.js';
import { setAmong } from '../ignored-settings.js';
import type { ChatModel, SpeechToText, TextToSpeech } from '../pipeline/ports.js';
import { createProviderChain, type ChainHandlers, type Provider, type ProviderChain } from './provider-chain.js';
import type { ProviderHealth, ProviderId, ProviderStage } from './provider-health.js';

/** At least one provider; the others are alternatives, in order. */
export type Providers<T> = readonly [Provider<T>, ...Provider<T>[]];

/** The providers of the pipeline engine, shared by all calls of the process. */
export interface PipelineProviders {
  stt: Providers<SpeechToText>;
  llm: Providers<ChatModel>;
  tts: Providers<TextToSpeech>;
  health: ProviderHealth;
}

/** Pause before a provider without alternatives is tried again, in ms. */
const RETRY_AFTER_MS: Record<Exclude<ProviderStage, 'realtime'>, number> = { stt: 200, llm: 300, tts: 200 };

export type OpenChain = <T>(providers: Providers<T>) => ProviderChain<T>;

/** Creates the chains of one call. */
export function createCallChains(p: {
  health: ProviderHealth;
  onServed: ChainHandlers['onServed'];
  log(message: string, details: object): void;
}): OpenChain {
  const handlers: ChainHandlers = {
    onServed: p.onServed,
    onSwitched({ from, to, fault }) {
      report('providerSwitch', { stage: to.stage, cause: fault === undefined ? 'skipped' : 'failed' });
      const details = { stage: to.stage, from: from.number, to: to.number };
      if (fault === undefined) p.log('provider skipped, because it failed in earlier calls', details);
      else p.log('provider failed; the next one takes over', { ...details, fault: fault.message });
    },
  };
  return (providers) => {
    const { stage } = providers[0];
    const retryAfterMs = stage === 'realtime' ? 0 : RETRY_AFTER_MS[stage];
    return createProviderChain({ providers, health: p.health, handlers, retryAfterMs });
  };
}

/** Changes the interface of each provider of a stage. */
export function mapProviders<T, U>(providers: Providers<T>, change: (provider: Provider<T>) => U): Providers<U> {
  const [first, ...rest] = providers.map((provider) => ({ ...provider, port: change(provider) }));
  return [first as Provider<U>, ...rest];
}

/** The unit of usage of a provider: `chat_input_tokens` of the first one, `chat_input_tokens_2` of the second. */
export function unitOf(unit: string, { number }: Pick<ProviderId, 'number'>): string {
  return number === 1 ? unit : `${unit}_${number}`;
}

/** The settings that name a model or a voice of the first provider of a stage, or suit only its model. */
const SETTINGS_OF_FIRST = {
  stt: [],
  llm: ['model', 'temperature', 'reasoningEffort'],
  tts: ['voiceId'],
  realtime: ['model', 'temperature', 'reasoningEffort', 'voiceId'],
} as const satisfies Record<ProviderStage, readonly (keyof ConversationSettings)[]>;

/**
 * The health of the providers as a call reports it. If the agent chose a model or voice of the first provider, a failure
 * may be the fault of that choice, so it does not count for other calls.
 */
export function healthOfCall(
  health: ProviderHealth,
  { callId, requestOwner, settings = {} }: Pick<EngineCall, 'callId' | 'requestOwner' | 'settings'>,
): ProviderHealth {
  const by = { callId, accountId: requestOwner?.accountId ?? '' };
  return {
    isOpen: (id) => health.isOpen(id, by),
    record(id, type) {
      const isChosen = id.number === 1 && setAmong(settings, SETTINGS_OF_FIRST[id.stage]).length > 0;
      if (type === 'succeeded' || !isChosen) return health.record(id, type, by);
      // The provider has responded, so a trial shows that it works again.
      if (type === 'rejected' && health.isOpen(id, by)) health.record(id, 'succeeded', by);
    },
  };
}

/** A call's settings that a provider ignores because it is an alternative. */
export function ignoredByAlternative(
  { number, stage }: Pick<ProviderId, 'number' | 'stage'>,
  settings: ConversationSettings = {},
) {
  return number === 1 ? [] : setAmong(settings, SETTINGS_OF_FIRST[stage]);
}

/** A call's settings for a provider. An alternative ignores those that name a model or a voice of the first one. */
export function settingsFor(
  { number }: Pick<ProviderId, 'number'>,
  settings: ConversationSettings,
): ConversationSettings {
  if (number === 1) return settings;
  const dropped = new Set<string>(SETTINGS_OF_FIRST.realtime);
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !dropped.has(name)));
}
