import { concludeCall } from '../../models/conclusion.js';
import { runSession } from '../../session/run-session.js';
import { createSessionRecorder } from '../../session/session-recorder.js';
import { isBusy, isClosing } from '../../session/reducer/state.js';
import { answeredByInResult } from '../../session/reducer/voicemail.js';
import { createUsageMeter } from '../engine-usage.js';
import { createIgnoredSettings } from '../ignored-settings.js';
import type { EngineCall, EngineResult, EngineSink, EngineUsage, TranscriptTurn } from '../port.js';
import { ignoredSettings, settingsOfCall } from './agent-choice.js';
import { openProviderSide } from './provider-side.js';
import { createServedProviders } from '../chain/served-providers.js';
import { emptyValues } from '../../results/extraction.js';
import { setupOf, timingsOf, type RealtimeSessionDeps } from './session-setup.js';

export type RealtimeSession = ReturnType<typeof startRealtimeSession>;

const TICK_MS = 200;
const NO_CALLER_WORDS = 'The other person’s words are missing, because the transcription model was rejected.';

/** Runs one call with the provider's realtime session: turns its messages into events, and commands into messages. */
export function startRealtimeSession(general: RealtimeSessionDeps, call: EngineCall, given: EngineSink) {
  const deps = { ...general, settings: settingsOfCall(general.settings, call) };
  const timings = timingsOf(deps, call);
  const ignored = createIgnoredSettings();
  ignored.add(ignoredSettings(deps.settings, call));
  const origin = performance.now();
  const now = () => performance.now() - origin;
  const usage = createUsageMeter(deps.prices);
  const turns: TranscriptTurn[] = [];
  const served = createServedProviders(now);
  const setup = setupOf(deps, call);
  /** Whether another engine has continued the call, which then also summarizes it. */
  let isReplaced = false;
  const sink: EngineSink = {
    ...given,
    fail(error) {
      isReplaced = call.hasSuccessor === true;
      given.fail(error);
    },
  };
  const recorder = deps.recordsEvents ? createSessionRecorder(setup) : undefined;
  const { dispatch, state, onAnsweredBy } = runSession({
    setup,
    now,
    perform: (command) => provider.perform(command),
    record: (event) => recorder?.record(event),
  });
  const provider = openProviderSide({
    ...deps,
    timings,
    call,
    sink,
    usage,
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

  /** Drops the connection of a provider that makes no progress, and renews a session before its time limit. */
  function tick(): void {
    const { link, responses } = provider;
    const { awaitedSinceMs } = state().provider;
    const owedMs = awaitedSinceMs === undefined ? 0 : now() - awaitedSinceMs;
    if (Math.max(responses.waitedMs(), owedMs) > timings.lostAfterMs) {
      if (isClosing(state())) provider.giveUpClosing();
      else if (call.hasSuccessor === true) provider.giveUp('the provider timed out');
      else link.dropConnection('the provider timed out');
    } else if (link.ageMs() > timings.renewAfterMs && !isBusy(state()) && responses.isFree()) link.renew();
  }

  function usageSoFar(): EngineUsage {
    usage.raise('call_seconds', Math.round(now() / 1_000));
    return usage.total();
  }

  /** @param counted resolves when the usage of the last response is counted */
  async function conclude(withinMs: number, counted: Promise<void>): Promise<EngineResult> {
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
      ...(recorder === undefined ? {} : { sessionLog: JSON.stringify(recorder.log()) }),
    };
  }

  const ticking = setInterval(tick, TICK_MS);
  provider.link.open();
  deps.phrases.prepare(call.voice);
  dispatch({ type: 'line_opened' });

  return {
    onCallerAudio: (frame: Uint8Array, timestampMs: number) =>
      state().stopped ? undefined : provider.onCallerAudio(frame, timestampMs),
    onDtmf: (digit: string) => dispatch({ type: 'dtmf_digit', digit }),
    onText: (text: string) => dispatch({ type: 'turn_typed', text }),
    onPlayed(itemId: string, playedMs: number, complete: boolean): void {
      dispatch({ type: 'item_played', itemId, playedMs, complete });
      sink.showInterim('agent', () => provider.wordsUntil(itemId, playedMs));
    },
    onEndingSoon: (secondsLeft: number) => dispatch({ type: 'ending_soon', secondsLeft }),
    onAnsweredBy,
    usage: usageSoFar,
    async stop(): Promise<EngineResult> {
      const began = performance.now();
      const callerSpeaks = state().turns.isOpen;
      clearInterval(ticking);
      dispatch({ type: 'stopped' });
      await provider.finish(callerSpeaks && !isReplaced);
      return conclude(Math.max(500, timings.stopWithinMs - (performance.now() - began)), provider.close());
    },
  };
}
