import { FRAME_MS } from '../../audio/frame.js';
import { openingOf, withAgentSettings } from '../../session/settings/agent-policy.js';
import type { SessionEventBody } from '../../session/reducer/events.js';
import { SESSION_POLICY, type SessionPolicy } from '../../session/reducer/policy.js';
import type { SessionSetup } from '../../session/reducer/state.js';
import { answeredByInResult } from '../../session/reducer/voicemail.js';
import { createToneDetector } from '../../session/voicemail-tone.js';
import { createSessionRecorder } from '../../session/session-recorder.js';
import { runSession } from '../../session/run-session.js';
import { createSpeechCharges } from '../../session/speech-limits.js';
import { createToolRounds } from '../../session/tool-rounds.js';
import { isIntroduced, buildPrompt } from '../../session/prompt.js';
import type { SilenceTimeouts } from '../../session/silence-timeouts.js';
import type { TurnTaking } from '../../session/turn-taking.js';
import type {
  EngineCall,
  EngineResult,
  EngineSink,
  EngineUsage,
  FailureCause,
  ProviderFailure,
  TranscriptTurn,
} from '../port.js';
import type { AccountTokens } from '../account-tokens.js';
import { createUsageMeter, type EnginePrices, type UsageMeter } from '../engine-usage.js';
import { createIgnoredSettings, setAmong, type OnIgnored } from '../ignored-settings.js';
import type { Conclusion } from '../../models/conclusion.js';
import { blameOf } from '../chain/blame.js';
import {
  createCallChains,
  healthOfCall,
  ignoredByAlternative,
  mapProviders,
  unitOf,
  type PipelineProviders,
} from '../chain/pipeline-chains.js';
import type { Provider } from '../chain/provider-chain.js';
import { createServedProviders } from '../chain/served-providers.js';
import { takeoverOf } from '../chain/takeover.js';
import { listenToCaller } from './caller-side.js';
import { createPerformer } from './performer.js';
import type { CallTts, ProviderError, SpeechToText } from './ports.js';
import type { PreparedPhrases } from './prepared-phrases.js';
import { withPronunciations } from './tts/pronunciation.js';
import { createReplies } from './replies.js';
import { createSpeech, meterTts } from './speech.js';
import { createChatHistory } from './chat-history.js';

export interface PipelineSessionDeps {
  providers: PipelineProviders;
  turnTaking: TurnTaking;
  prepared: PreparedPhrases;
  /** @param model the number of the LLM that served the call last */
  conclude(p: ConclusionDeps & { model: number }): Promise<Conclusion>;
  tokens: AccountTokens;
  prices: EnginePrices;
  silence?: Partial<SilenceTimeouts>;
  sttTimeoutMs?: number;
  /** Whether the result includes the session's events. */
  recordsEvents?: boolean;
  log(callId: string, message: string, details?: object): void;
}

interface ConclusionDeps {
  call: EngineCall;
  turns: readonly TranscriptTurn[];
  usage: UsageMeter;
  onFailure: (failure: ProviderFailure) => void;
}

/** How long the end of a call waits until the usage of a canceled reply is counted, in ms. */
const LAST_USAGE_MS = 300;

/** Runs one call of the pipeline engine: turns provider messages into session events, and commands into requests. */
export function startPipelineSession(deps: PipelineSessionDeps, call: EngineCall, sink: EngineSink) {
  const origin = performance.now() - (call.takesOver?.atMs ?? 0);
  const now = () => performance.now() - origin;
  const tokens = deps.tokens.ofCall(call.requestOwner);
  const usage = tokens.meter(createUsageMeter(deps.prices));
  const history = createChatHistory(buildPrompt(call));
  const turns: TranscriptTurn[] = [];
  const tone = createToneDetector(call.voicemail.action);
  const ignored = createIgnoredSettings();
  const { served, openChain } = chainsOf(deps, call, now, ignored.add);
  const sttChain = openChain(deps.providers.stt);
  const sttUsage = createSttUsage(usage);
  const setup = setupOf(deps, sttChain.current().port, call);
  const { setSilence, ...options } = optionsOf(deps, sttChain.current().port, call, ignored.add);
  let stopped = false;

  const recorder = deps.recordsEvents === true ? createSessionRecorder(setup) : undefined;
  const record: Parameters<typeof runSession>[0]['record'] = (event) => recorder?.record(event);
  const session = runSession({ setup, now, perform: (command) => perform(command), record });
  const { dispatch } = session;
  const onFailure = reportTo(sink);
  const voices = voicesOf(deps, call, chargeSpeech(deps, call, { usage, now, dispatch }));
  const speaking = { voices: openChain(voices.providers), options: options.tts };
  const speech = createSpeech({ ...speaking, sink, dispatch, onFailure });
  const caller = openCaller(deps, call, {
    chain: sttChain,
    sttUsage,
    setSilence,
    options: options.stt,
    stalledMs: setup.policy.turns.stalledAfterMs,
    now,
    dispatch,
    onWords: (text) => sink.showInterim('caller', () => text),
    onFailure,
  });
  const replies = createReplies({
    deps,
    call,
    ttsOptions: options.tts,
    onIgnored: ignored.add,
    sink,
    history,
    usage,
    tokens,
    now,
    speech,
    toolRounds: createToolRounds(now),
    openChain,
    dispatch,
    onFailure,
  });
  const perform = createPerformer({
    call,
    sink,
    history,
    speech,
    caller,
    replies,
    prepared: deps.prepared,
    ttsOptions: options.tts,
    storeTurn,
    itemFailed: (itemId, { part, message }) => dispatch({ type: 'item_failed', itemId, part, message }),
  });

  function storeTurn(turn: TranscriptTurn): void {
    turns.push(turn);
    sink.storeTurn(turn);
  }

  function usageSoFar(): EngineUsage {
    sttUsage.raise();
    return usage.total();
  }

  function hear(frame: Uint8Array, timestampMs: number): void {
    if (stopped) return;
    if (tone.push(frame, timestampMs)) dispatch({ type: 'tone_heard', streamMs: timestampMs + FRAME_MS });
    caller.push(frame, timestampMs);
  }

  for (const { frame, timestampMs } of call.takesOver?.unanswered ?? []) hear(frame, timestampMs);
  dispatch({ type: 'line_opened' });

  return {
    onCallerAudio: hear,
    onDtmf: (digit: string) => dispatch({ type: 'dtmf_digit', digit }),
    onText: (text: string) => dispatch({ type: 'turn_typed', text }),
    onPlayed(itemId: string, playedMs: number, complete: boolean): void {
      dispatch({ type: 'item_played', itemId, playedMs, complete });
      speech.played(itemId, playedMs);
      sink.showInterim('agent', () => speech.heard(itemId, playedMs));
    },
    onEndingSoon: (secondsLeft: number) => dispatch({ type: 'ending_soon', secondsLeft }),
    onAnsweredBy: session.onAnsweredBy,
    usage: usageSoFar,
    async stop(): Promise<EngineResult> {
      stopped = true;
      dispatch({ type: 'stopped' });
      tokens.end();
      caller.close();
      voices.close();
      const all = [...(call.resume?.turns ?? []), ...turns];
      const ending = { call, turns: all, usage, model: replies.model().number };
      const concluding = deps.conclude({ ...ending, onFailure: (failure) => sink.storeFailure(failure) });
      const [conclusion] = await Promise.all([concluding, replies.settled(LAST_USAGE_MS)]);
      return {
        ...conclusion,
        usage: usageSoFar(),
        served: served.all(),
        ...answeredByInResult(session.state()),
        ...ignored.inResult(),
        ...(recorder === undefined ? {} : { sessionLogs: [JSON.stringify(recorder.log())] }),
      };
    },
  };
}

/** The options of the call's providers, with the agent's settings. */
function optionsOf(
  { turnTaking }: PipelineSessionDeps,
  first: SpeechToText,
  { voice, language, settings = {} }: EngineCall,
  onIgnored: OnIgnored,
) {
  onIgnored(setAmong(settings, ['noiseReduction']));
  if (settings.vadThreshold !== undefined) turnTaking.requireCertainty(settings.vadThreshold);
  function setSilence(stt: SpeechToText): void {
    if (settings.endOfTurnSilenceMs !== undefined && !stt.detectsEndOfTurn)
      turnTaking.endTurnAfter(settings.endOfTurnSilenceMs);
  }
  setSilence(first);
  const ofAgent = { settings, onIgnored };
  return { setSilence, stt: { language, ...ofAgent }, tts: { voice, language, ...ofAgent } };
}

function reportTo(sink: EngineSink) {
  return ({ part, message: what, report, blame = blameOf(report) }: ProviderError & Partial<FailureCause>) =>
    sink.storeFailure({ part, what, ...report }, { blame });
}

/** A usage meter for TTS: speech that exceeds what the call's time allows uses up replies. */
function chargeSpeech(
  { log }: Pick<PipelineSessionDeps, 'log'>,
  { callId }: EngineCall,
  { usage, now, dispatch }: { usage: UsageMeter; now: () => number; dispatch: (what: SessionEventBody) => void },
): UsageMeter {
  const charges = createSpeechCharges(now);
  let isReported = false;
  return {
    ...usage,
    add(unit, characters = 0) {
      usage.add(unit, characters);
      const count = charges.repliesFor(characters);
      if (count === 0) return;
      dispatch({ type: 'replies_charged', count });
      if (!isReported) log(callId, 'more speech than the call has time for; replies wait');
      isReported = true;
    },
  };
}

/** The TTS providers as the call uses them: with its own connections, metered, and with the agent's pronunciations. */
function voicesOf({ providers }: PipelineSessionDeps, { settings }: EngineCall, usage: UsageMeter) {
  const connections: CallTts[] = [];
  return {
    providers: mapProviders(providers.tts, (provider) => {
      const ofCall = provider.port.forCall?.();
      if (ofCall !== undefined) connections.push(ofCall);
      return withPronunciations(meterTts(provider, ofCall ?? provider.port, usage), settings?.pronunciations);
    }),
    close: () => connections.forEach((connection) => connection.close()),
  };
}

type CallerDeps = Parameters<typeof listenToCaller>[0];

/** Listens to the caller with the STT providers of the call. */
function openCaller(
  deps: PipelineSessionDeps,
  { callId }: EngineCall,
  {
    sttUsage,
    setSilence,
    ...p
  }: Pick<CallerDeps, 'chain' | 'options' | 'stalledMs' | 'now' | 'dispatch' | 'onWords' | 'onFailure'> & {
    sttUsage: ReturnType<typeof createSttUsage>;
    setSilence: (stt: SpeechToText) => void;
  },
) {
  return listenToCaller({
    ...p,
    turnTaking: deps.turnTaking,
    dispatch(what) {
      if (what.type === 'recogniser_lost') deps.log(callId, 'speech-to-text stream lost; reconnecting');
      p.dispatch(what);
    },
    onBilled: (seconds, provider) => sttUsage.billed(seconds, provider),
    onSent: (frames, provider) => sttUsage.sent(frames, provider),
    onProviderChanged(stt) {
      setSilence(stt);
      p.dispatch({ type: 'recogniser_changed', ...turnRulesOf(stt) });
    },
    onGone(error) {
      deps.log(callId, 'provider failed; ending the call', { err: error });
      p.dispatch({ type: 'provider_gone', part: error.part, message: error.message });
    },
  });
}

/** Opens a call's chains of providers, and the list of those that served it. */
function chainsOf(deps: PipelineSessionDeps, call: EngineCall, now: () => number, onIgnored: OnIgnored) {
  const { callId, settings } = call;
  const served = createServedProviders(now);
  const openChain = createCallChains({
    health: healthOfCall(deps.providers.health, call),
    onServed(provider) {
      const isFirstLlm = provider.stage === 'llm' && provider.number === 1;
      served.add({ ...provider, model: (isFirstLlm ? settings?.model : undefined) ?? provider.model });
      onIgnored(ignoredByAlternative(provider, settings));
    },
    log: (message, details) => deps.log(callId, message, details),
  });
  return { served, openChain };
}

/** Counts the audio that each STT provider bills. */
function createSttUsage(usage: UsageMeter) {
  const seconds = new Map<Provider<SpeechToText>, { billed: number; sent: number }>();

  function add(provider: Provider<SpeechToText>, billed: number, sent: number): void {
    const before = seconds.get(provider) ?? { billed: 0, sent: 0 };
    seconds.set(provider, { billed: before.billed + billed, sent: before.sent + sent });
  }

  return {
    billed: (billed: number, provider: Provider<SpeechToText>) => add(provider, billed, 0),
    sent: (frames: number, provider: Provider<SpeechToText>) => add(provider, 0, (frames * FRAME_MS) / 1_000),
    raise(): void {
      for (const [provider, { billed, sent }] of seconds) {
        const total = provider.port.billsRequests === true ? billed : sent;
        usage.raise(unitOf('recogniser_seconds', provider), Math.round(total));
      }
    },
  };
}

/** Says how a session must end turns with this STT. */
function turnRulesOf(stt: SpeechToText) {
  return {
    endsTurns: stt.detectsEndOfTurn ? ('engine' as const) : ('session' as const),
    decidedWithinMs: stt.wordsWithinMs ?? SESSION_POLICY.turns.decidedWithinMs,
  };
}

function setupOf(
  { silence: silenceTimeouts, sttTimeoutMs }: PipelineSessionDeps,
  stt: SpeechToText,
  call: EngineCall,
): SessionSetup {
  const { silence, turns } = SESSION_POLICY;
  const { endsTurns, decidedWithinMs } = turnRulesOf(stt);
  const policy: SessionPolicy = {
    ...SESSION_POLICY,
    silence: {
      repromptAfterMs: silenceTimeouts?.promptAfterMs ?? silence.repromptAfterMs,
      endAfterMs: silenceTimeouts?.endAfterMs ?? silence.endAfterMs,
    },
    turns: {
      ...turns,
      stalledAfterMs: sttTimeoutMs ?? turns.stalledAfterMs,
      decidedWithinMs,
    },
  };
  return {
    policy: withAgentSettings(policy, call.settings ?? {}),
    ...openingOf(call),
    capabilities: { endsTurns },
    voicemail: { action: call.voicemail.action, hasMessage: call.voicemail.message !== undefined },
    isInbound: call.direction === 'inbound',
    resumed: call.resume !== undefined,
    introduced: isIntroduced(call),
    ...takeoverOf(call),
  };
}
