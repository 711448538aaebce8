import { Agent } from 'undici';
import { loadVoiceActivity } from '../../audio/voice-activity.js';
import type { PipelineSettings, PipelineTimeouts } from '../../../platform/config/engines/pipeline-settings.js';
import type { Logger } from '../../../platform/telemetry/logger.js';
import { unitOf, type PipelineProviders, type Providers } from '../chain/pipeline-chains.js';
import { createProviderHealth, type ProviderHealth, type ProviderStage } from '../chain/provider-health.js';
import { createAccountTokens, type AccountTokens } from '../account-tokens.js';
import type { EnginePrices, UsageMeter } from '../engine-usage.js';
import { createChatClient } from '../../models/chat-client.js';
import { concludeCall } from '../../models/conclusion.js';
import { createSessionEngine } from '../session-engine.js';
import type { EngineFactory } from '../port.js';
import type { SilenceTimeouts } from '../../session/silence-timeouts.js';
import { createTurnTaking } from '../../session/turn-taking.js';
import { startPipelineSession, type PipelineSessionDeps } from './session.js';
import { healthyVoice } from '../chain/healthy-voice.js';
import { createPreparedPhrases } from './prepared-phrases.js';
import { createLlm, createStt, createTts } from './providers/create-providers.js';
import type { SttDeps } from './providers/description.js';

export const PIPELINE_ENGINE = 'pipeline';

/** Timeout for the summary and values after the call; below the 4 s that the stream session waits for them. */
const CONCLUDE_WITHIN_MS = 3_500;
const CONNECT_WITHIN_MS = 5_000;

/** How long a provider may send nothing if an alternative can take over. */
const DEADLINE_MS = 3_000;

export type { PipelineTimeouts };

/** The engine that combines streaming STT, an LLM and streaming TTS, each from its own provider. */
export function createPipelineEngine(p: {
  settings: PipelineSettings;
  prices: EnginePrices;
  logger: Logger;
  silence?: Partial<SilenceTimeouts>;
  timeouts?: PipelineTimeouts;
  /** Whether each result includes the session's events. */
  recordsEvents?: boolean;
  /** Stores which providers fail; may be shared with other engines. */
  health?: ProviderHealth;
  /** Limits the tokens of each account; may be shared with other engines. Default: no limit. */
  tokens?: AccountTokens;
}): EngineFactory {
  const { settings, logger, tokens = createAccountTokens(undefined) } = p;
  const dispatcher = new Agent({ connect: { timeout: CONNECT_WITHIN_MS }, bodyTimeout: 0, headersTimeout: 0 });
  const timeouts = { ...deadlinesOf(settings), ...settings.timeouts, ...p.timeouts };
  const providers = createProviders(settings, timeouts, { dispatcher, newDetector: createDetector, health: p.health });
  const chats = numbered('llm', accountsOf(settings, 'llm'), (account) => createChatClient(account));
  const prepared = createPreparedPhrases(healthyVoice(providers));
  let newDetector: Awaited<ReturnType<typeof loadVoiceActivity>> | undefined;

  function createDetector() {
    if (newDetector === undefined) throw new Error('the engine must be warmed before it is used');
    return newDetector();
  }

  return {
    name: PIPELINE_ENGINE,

    async warm() {
      newDetector ??= await loadVoiceActivity();
      await prepared.warm();
    },

    create() {
      const turnTaking = createTurnTaking(createDetector());
      const deps: PipelineSessionDeps = {
        providers,
        turnTaking,
        prepared,
        tokens,
        prices: p.prices,
        recordsEvents: p.recordsEvents ?? false,
        ...(p.silence === undefined ? {} : { silence: p.silence }),
        ...(timeouts.sttMs === undefined ? {} : { sttTimeoutMs: timeouts.sttMs }),
        conclude: ({ call, turns, usage, model, onFailure }) =>
          concludeCall({
            chats: chats
              .toSorted((one, other) => Number(other.number === model) - Number(one.number === model))
              .map((provider) => ({ chat: provider.port, usage: meterOf(usage, provider) })),
            call,
            turns,
            withinMs: CONCLUDE_WITHIN_MS,
            logger,
            onFailure,
          }),
        log: (callId, message, details) => logger.warn({ callId, engine: PIPELINE_ENGINE, ...details }, message),
      };
      return createSessionEngine({
        name: PIPELINE_ENGINE,
        capabilities: { freeForm: true, dtmf: true },
        turnTaking,
        startSession: (call, sink) => startPipelineSession(deps, call, sink),
      });
    },

    async close() {
      await prepared.close();
      await dispatcher.destroy();
    },
  };
}

interface CreateDeps {
  dispatcher: Agent;
  newDetector: SttDeps['newDetector'];
  health: ProviderHealth | undefined;
}

/** Creates the providers of each stage and their alternatives. */
function createProviders(
  settings: PipelineSettings,
  timeouts: PipelineTimeouts,
  { dispatcher, newDetector, health }: CreateDeps,
): PipelineProviders {
  const stts = accountsOf(settings, 'stt');
  const isPatient = stts.length === 1;
  const llms = accountsOf(settings, 'llm');
  return {
    stt: numbered('stt', stts, (account) =>
      createStt(account, { dispatcher, newDetector, isPatient, ...timeoutOf(timeouts.sttMs) }),
    ),
    llm: numbered('llm', llms, (account) =>
      createLlm(account, {
        dispatcher,
        ...timeoutOf(timeouts.llmMs),
        // Events without words are a sign of life only if no other provider could answer.
        ...(account === llms.at(-1) || timeouts.llmMs === undefined ? {} : { firstWithinMs: timeouts.llmMs }),
      }),
    ),
    tts: numbered('tts', accountsOf(settings, 'tts'), (account) =>
      createTts(account, { dispatcher, ...timeoutOf(timeouts.ttsMs) }),
    ),
    health: health ?? createProviderHealth(),
  };
}

type Accounts<T> = readonly [T, ...T[]];

function accountsOf<S extends 'stt' | 'llm' | 'tts'>(
  settings: PipelineSettings,
  stage: S,
): Accounts<PipelineSettings[S]> {
  return [settings[stage], ...((settings.fallbacks?.[stage] ?? []) as readonly PipelineSettings[S][])];
}

function numbered<A extends { provider: string; model: string }, T>(
  stage: ProviderStage,
  accounts: Accounts<A>,
  create: (account: A) => T,
): Providers<T> {
  const providerOf = (account: A, index: number) => ({
    stage,
    number: index + 1,
    name: account.provider,
    model: account.model,
    port: create(account),
  });
  const [first, ...rest] = accounts;
  return [providerOf(first, 0), ...rest.map((account, index) => providerOf(account, index + 1))];
}

/** A stage with an alternative gives up sooner than one that can only ask the same provider again. */
function deadlinesOf({ fallbacks }: PipelineSettings): PipelineTimeouts {
  return {
    ...(fallbacks?.stt.length ? { sttMs: DEADLINE_MS } : {}),
    ...(fallbacks?.llm.length ? { llmMs: DEADLINE_MS } : {}),
    ...(fallbacks?.tts.length ? { ttsMs: DEADLINE_MS } : {}),
  };
}

/** Counts the usage of an alternative in its own units. */
function meterOf(usage: UsageMeter, provider: { number: number }): Pick<UsageMeter, 'add'> {
  return { add: (unit, count) => usage.add(unitOf(unit, provider), count) };
}

function timeoutOf(ms: number | undefined): { timeoutMs?: number } {
  return ms === undefined ? {} : { timeoutMs: ms };
}
