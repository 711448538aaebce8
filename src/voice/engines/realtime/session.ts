import { concludeCall } from '../../models/conclusion.js';
import { runSession } from '../../session/run-session.js';
import { createSessionRecorder } from '../../session/session-recorder.js';
import { isBusy, isClosing, type SessionState } from '../../session/reducer/state.js';
import { answeredByInResult } from '../../session/reducer/voicemail.js';
import { createUsageMeter } from '../engine-usage.js';
import { createIgnoredSettings } from '../ignored-settings.js';
import { REPLACED } from '../port.js';
import type { EngineCall, EngineResult, EngineSink, EngineUsage, TranscriptTurn } from '../port.js';
import { ignoredSettings, settingsOfCall, type CallSettings } from './agent-choice.js';
import { openProviderSide } from './provider-side.js';
import { createServedProviders } from '../chain/served-providers.js';
import { emptyValues } from '../../results/extraction.js';
import { setupOf, timingsOf, type RealtimeSessionDeps, type RealtimeTimings } from './session-setup.js';
import { createTurnWatch, silenceInTurnMs } from './turn-watch.js';

export type RealtimeSession = ReturnType<typeof startRealtimeSession>;

const TICK_MS = 200;
const NO_CALLER_WORDS = 'The other person’s words are missing, because the transcription model was rejected.';

/** Runs one call with the provider's realtime session: turns its messages into events, and commands into messages. */
export function startRealtimeSession(general: RealtimeSessionDeps, call: EngineCall, sink: EngineSink) {
  const deps = { ...general, settings: settingsOfCall(general.settings, call) };
  const timings = timingsOf(deps, call);
  const ignored = createIgnoredSettings();
  ignored.add(ignoredSettings(deps.settings, call));
  const origin = performance.now();
  const now = () => performance.now() - origin;
  const tokens = deps.tokens.ofCall(call.requestOwner);
  const usage = tokens.meter(createUsageMeter(deps.prices));
  const turns: TranscriptTurn[] = [];
  const served = createServedProviders(now);
  const setup = setupOf(deps, call);
  const recorder = deps.recordsEvents ? createSessionRecorder(setup) : undefined;
  const { dispatch, state, onAnsweredBy } = runSession({
    setup,
    now,
    perform: (command) => provider.perform(command),
    record(event) {
      if (event.type === 'turn_over') progress.turnEnded();
      recorder?.record(event);
    },
  });
  const provider = openProviderSide({
    ...deps,
    timings,
    call,
    sink,
    usage,
    owedMs: tokens.owedMs,
    now,
    dispatch,
    state,
    transcriptSoFar,
    storeTurn,
    onReady: () =>
      served.add({ stage: 'realtime', number: 1, name: 'openai', model: deps.settings.model, port: undefined }),
  });

  function storeTurn(turn: TranscriptTurn): void {
    turns.push(turn);
    sink.storeTurn(turn);
  }

  function transcriptSoFar(onLine: readonly TranscriptTurn[] = []): TranscriptTurn[] {
    return [...(call.resume?.turns ?? []), ...[...turns, ...onLine].toSorted((a, b) => a.startMs - b.startMs)];
  }

  function usageSoFar(): EngineUsage {
    usage.raise('call_seconds', Math.round(now() / 1_000));
    return usage.total();
  }

  /**
   * @param isReplaced whether another engine continues the call, which then also summarizes it
   * @param counted resolves when the usage of the last response is counted
   */
  async function conclude(isReplaced: boolean, withinMs: number, counted: Promise<void>): Promise<EngineResult> {
    const conclusion = isReplaced
      ? { summary: '', outputParameters: emptyValues(call.outputTemplate) }
      : await concludeCall({
          chats: [{ chat: deps.chat, usage }],
          call,
          turns: transcriptSoFar(),
          withinMs,
          logger: deps.logger,
          onFailure: (failure) => sink.storeFailure(failure),
        });
    await counted;
    const misses = !provider.transcribes() && transcriptSoFar().some(({ speaker }) => speaker === 'caller');
    return {
      ...conclusion,
      ...(misses ? { summary: `${conclusion.summary} ${NO_CALLER_WORDS}` } : {}),
      ...answeredByInResult(state()),
      ...ignored.inResult(),
      usage: usageSoFar(),
      served: served.all(),
      ...(recorder === undefined ? {} : { sessionLogs: [JSON.stringify(recorder.log())] }),
    };
  }

  const progress = watchProgress({ ...deps, call, timings, provider, now, state });
  provider.link.open();
  deps.phrases.prepare(call.voice);
  dispatch({ type: 'line_opened' });

  return {
    onCallerAudio(frame: Uint8Array, timestampMs: number): void {
      if (state().stopped) return;
      progress.hear(frame);
      provider.onCallerAudio(frame, timestampMs);
    },
    onDtmf: (digit: string) => dispatch({ type: 'dtmf_digit', digit }),
    onText: (text: string) => dispatch({ type: 'turn_typed', text }),
    onPlayed(itemId: string, playedMs: number, complete: boolean): void {
      dispatch({ type: 'item_played', itemId, playedMs, complete });
      sink.showInterim('agent', () => provider.wordsUntil(itemId, playedMs));
    },
    onEndingSoon: (secondsLeft: number) => dispatch({ type: 'ending_soon', secondsLeft }),
    onAnsweredBy,
    usage: usageSoFar,
    /** @param reason `replaced` if another engine continues the call */
    async stop(reason: string): Promise<EngineResult> {
      const isReplaced = reason === REPLACED;
      const began = performance.now();
      const callerSpeaks = state().turns.isOpen;
      progress.stop();
      tokens.end();
      dispatch({ type: 'stopped' });
      await provider.finish(callerSpeaks && !isReplaced);
      const withinMs = Math.max(500, timings.stopWithinMs - (performance.now() - began));
      return conclude(isReplaced, withinMs, provider.close());
    },
  };
}

interface ProgressDeps extends Pick<RealtimeSessionDeps, 'newDetector'> {
  settings: CallSettings;
  timings: RealtimeTimings;
  call: EngineCall;
  provider: ReturnType<typeof openProviderSide>;
  now: () => number;
  state: () => SessionState;
}

/** Gives up a provider that makes no progress, and renews a session before its time limit. */
function watchProgress({ settings, timings, call, provider, now, state, newDetector }: ProgressDeps) {
  const turnWatch = createTurnWatch({
    detector: newDetector(),
    now,
    openedAtMs: () => (state().turns.isOpen && !isClosing(state()) ? state().turns.openedAtMs : undefined),
  });
  const silentAtMostMs = silenceInTurnMs(settings, timings.turnEndGraceMs);
  /** Turns in a row whose end the provider has not reported. */
  let missedEnds = 0;

  /** Lets another engine continue the call, or opens a new connection if that may help. */
  function lose(why: string, isRepeated = false): void {
    if (call.hasSuccessor === true || isRepeated) provider.giveUp(why);
    else provider.link.dropConnection(why);
  }

  function tick(): void {
    const { link, responses } = provider;
    const { awaitedSinceMs } = state().provider;
    const owedMs = awaitedSinceMs === undefined ? 0 : now() - awaitedSinceMs;
    if (Math.max(responses.waitedMs(), owedMs) > timings.lostAfterMs) {
      if (isClosing(state())) provider.giveUpClosing();
      else lose('the provider timed out');
    } else if (turnWatch.silentMs() > silentAtMostMs) {
      missedEnds += 1;
      lose('the provider did not report the end of a turn', missedEnds > 1);
    } else if (link.ageMs() > timings.renewAfterMs && !isBusy(state()) && responses.isFree()) link.renew();
  }

  const ticking = setInterval(tick, TICK_MS);
  return {
    /** @param frame 20 ms of the caller's audio, 8 kHz mu-law */
    hear: (frame: Uint8Array) => turnWatch.push(frame),
    /** Call this when the provider has reported the end of a turn. */
    turnEnded: () => void (missedEnds = 0),
    stop(): void {
      clearInterval(ticking);
      turnWatch.free();
    },
  };
}
