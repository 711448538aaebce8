import { FRAME_MS } from '../../audio/frame.js';
import { openingOf, withAgentSettings } from '../../session/settings/agent-policy.js';
import { SESSION_POLICY, type SessionPolicy } from '../../session/reducer/policy.js';
import type { SessionSetup } from '../../session/reducer/state.js';
import { answeredByInResult } from '../../session/reducer/voicemail.js';
import { createToneDetector } from '../../session/voicemail-tone.js';
import { createSessionRecorder } from '../../session/session-recorder.js';
import { runSession } from '../../session/run-session.js';
import { createToolRounds } from '../../session/tool-rounds.js';
import { isIntroduced, buildPrompt } from '../../session/prompt.js';
import type { SilenceTimeouts } from '../../session/silence-timeouts.js';
import type { TurnTaking } from '../../session/turn-taking.js';
import type { EngineCall, EngineResult, EngineSink, EngineUsage, ProviderFailure, TranscriptTurn } from '../port.js';
import { createUsageMeter, type EnginePrices, type UsageMeter } from '../engine-usage.js';
import { createIgnoredSettings, setAmong } from '../ignored-settings.js';
import type { Conclusion } from '../../models/conclusion.js';
import { listenToCaller } from './caller-side.js';
import { createPerformer } from './performer.js';
import type { ChatModel, ProviderError, SpeechToText, TextToSpeech } from './ports.js';
import type { PreparedPhrases } from './prepared-phrases.js';
import { withPronunciations } from './tts/pronunciation.js';
import { createReplies } from './replies.js';
import { createSpeech, meterTts } from './speech.js';
import { createChatHistory } from './chat-history.js';

export interface PipelineSessionDeps {
  stt: SpeechToText;
  model: ChatModel;
  voice: TextToSpeech;
  turnTaking: TurnTaking;
  prepared: PreparedPhrases;
  conclude(
    call: EngineCall,
    turns: readonly TranscriptTurn[],
    usage: UsageMeter,
    onFailure: (failure: ProviderFailure) => void,
  ): Promise<Conclusion>;
  prices: EnginePrices;
  silence?: Partial<SilenceTimeouts>;
  sttTimeoutMs?: number;
  /** Whether the result includes the session's events. */
  recordsEvents?: boolean;
  log(callId: string, message: string, error?: Error): void;
}

/** How long the end of a call waits until the usage of a canceled reply is counted, in ms. */
const LAST_USAGE_MS = 300;

/** Runs one call of the pipeline engine: turns provider messages into session events, and commands into requests. */
export function startPipelineSession(deps: PipelineSessionDeps, call: EngineCall, sink: EngineSink) {
  const origin = performance.now();
  const now = () => performance.now() - origin;
  const usage = createUsageMeter(deps.prices);
  const history = createChatHistory(buildPrompt(call));
  const turns: TranscriptTurn[] = [];
  const tone = createToneDetector(call.voicemail.action);
  const setup = setupOf(deps, call);
  const { ignored, ...options } = optionsOf(deps, call);
  let stopped = false;
  let frames = 0;
  let billedSttSeconds = 0;

  const recorder = deps.recordsEvents === true ? createSessionRecorder(setup) : undefined;
  const session = runSession({
    setup,
    now,
    perform: (command) => perform(command),
    record: (event) => recorder?.record(event),
  });
  const { dispatch } = session;
  const onFailure = reportTo(sink);
  const speech = createSpeech({
    voice: withPronunciations(meterTts(deps.voice, usage), call.settings?.pronunciations),
    options: options.tts,
    sink,
    dispatch,
    onFailure,
  });
  const caller = listenToCaller({
    turnTaking: deps.turnTaking,
    stt: deps.stt,
    options: options.stt,
    stalledMs: setup.policy.turns.stalledAfterMs,
    now,
    dispatch(what) {
      if (what.type === 'recogniser_lost') deps.log(call.callId, 'speech-to-text stream lost; reconnecting');
      dispatch(what);
    },
    onBilled: (seconds) => (billedSttSeconds += seconds),
    onFailure,
    onGone: onProviderGone,
  });
  const replies = createReplies({
    deps,
    call,
    ttsOptions: options.tts,
    onIgnored: ignored.add,
    sink,
    history,
    usage,
    now,
    speech,
    toolRounds: createToolRounds(now),
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
    itemFailed,
  });

  function onProviderGone(error: ProviderError): void {
    deps.log(call.callId, 'provider failed; ending the call', error);
    dispatch({ type: 'provider_gone', part: error.part, message: error.message });
  }

  function itemFailed(itemId: string, error: ProviderError): void {
    dispatch({ type: 'item_failed', itemId, part: error.part, message: error.message });
  }

  function storeTurn(turn: TranscriptTurn): void {
    turns.push(turn);
    sink.storeTurn(turn);
  }

  function usageSoFar(): EngineUsage {
    const seconds = deps.stt.billsRequests === true ? billedSttSeconds : (frames * FRAME_MS) / 1_000;
    usage.raise('recogniser_seconds', Math.round(seconds));
    return usage.total();
  }

  dispatch({ type: 'line_opened' });

  return {
    onCallerAudio(frame: Uint8Array, timestampMs: number): void {
      if (stopped) return;
      frames += 1;
      if (tone.push(frame, timestampMs)) dispatch({ type: 'tone_heard', streamMs: timestampMs + FRAME_MS });
      caller.push(frame, timestampMs);
    },
    onDtmf: (digit: string) => dispatch({ type: 'dtmf_digit', digit }),
    onPlayed(itemId: string, playedMs: number, complete: boolean): void {
      dispatch({ type: 'item_played', itemId, playedMs, complete });
      speech.played(itemId, playedMs);
    },
    onEndingSoon: (secondsLeft: number) => dispatch({ type: 'ending_soon', secondsLeft }),
    onAnsweredBy: session.onAnsweredBy,
    usage: usageSoFar,
    async stop(): Promise<EngineResult> {
      stopped = true;
      dispatch({ type: 'stopped' });
      caller.close();
      const all = [...(call.resume?.turns ?? []), ...turns];
      const concluding = deps.conclude(call, all, usage, (failure) => sink.storeFailure(failure));
      const [conclusion] = await Promise.all([concluding, replies.settled(LAST_USAGE_MS)]);
      return {
        ...conclusion,
        usage: usageSoFar(),
        ...answeredByInResult(session.state()),
        ...ignored.inResult(),
        ...(recorder === undefined ? {} : { sessionLog: JSON.stringify(recorder.log()) }),
      };
    },
  };
}

/** The options of the call's providers, with the agent's settings. */
function optionsOf({ stt, turnTaking }: PipelineSessionDeps, { voice, language, settings = {} }: EngineCall) {
  const ignored = createIgnoredSettings();
  ignored.add(setAmong(settings, ['noiseReduction', 'vadThreshold']));
  if (settings.endOfTurnSilenceMs !== undefined && !stt.detectsEndOfTurn)
    turnTaking.endTurnAfter(settings.endOfTurnSilenceMs);
  const ofAgent = { settings, onIgnored: ignored.add };
  return { ignored, stt: { language, ...ofAgent }, tts: { voice, language, ...ofAgent } };
}

function reportTo(sink: EngineSink) {
  return ({ part, message: what, report }: ProviderError) => sink.storeFailure({ part, what, ...report });
}

function setupOf({ silence: silenceTimeouts, sttTimeoutMs, stt }: PipelineSessionDeps, call: EngineCall): SessionSetup {
  const { silence, turns } = SESSION_POLICY;
  const policy: SessionPolicy = {
    ...SESSION_POLICY,
    silence: {
      repromptAfterMs: silenceTimeouts?.promptAfterMs ?? silence.repromptAfterMs,
      endAfterMs: silenceTimeouts?.endAfterMs ?? silence.endAfterMs,
    },
    turns: {
      ...turns,
      stalledAfterMs: sttTimeoutMs ?? turns.stalledAfterMs,
      decidedWithinMs: stt.wordsWithinMs ?? turns.decidedWithinMs,
    },
  };
  return {
    policy: withAgentSettings(policy, call.settings ?? {}),
    ...openingOf(call),
    capabilities: { endsTurns: stt.detectsEndOfTurn ? 'engine' : 'session' },
    voicemail: { action: call.voicemail.action, hasMessage: call.voicemail.message !== undefined },
    isInbound: call.direction === 'inbound',
    resumed: call.resume !== undefined,
    introduced: isIntroduced(call),
  };
}
