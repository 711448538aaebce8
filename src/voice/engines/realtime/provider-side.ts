import type { SessionEventBody } from '../../session/reducer/events.js';
import type { SessionState } from '../../session/reducer/state.js';
import { createToolRounds } from '../../session/tool-rounds.js';
import type { FailureReport } from '../../models/failure-report.js';
import { blameOf } from '../chain/blame.js';
import type { UsageMeter } from '../engine-usage.js';
import type { EngineCall, EngineSink, TranscriptTurn } from '../port.js';
import { createCallerAudio } from './caller-audio.js';
import { createCallerTranscription } from './caller-transcription.js';
import { createProviderTurns } from './provider-turns.js';
import { createProviderPerformer } from './performer.js';
import type { ClientEvent } from './protocol.js';
import { createProviderEvents } from './provider-events.js';
import { createProviderLink, type LossKind } from './provider-link.js';
import { createResponseCosts } from './response-costs.js';
import { createResponses } from './responses.js';
import { autoReplySettings } from './provider-settings.js';
import { createProviderSpeech, type ProviderSpeech } from './speech.js';
import type { RealtimeSessionDeps } from './session-setup.js';
import { createToolCalls } from './tool-calls.js';

/** With the estimated size of instructions and tools, because OpenAI limits both together. */
const REJECTED = 'realtime provider rejected the instruction, tools or settings of a call';

interface ProviderSideDeps extends RealtimeSessionDeps {
  call: EngineCall;
  sink: EngineSink;
  usage: UsageMeter;
  /** How long it takes until the call's account has tokens again, in ms. */
  owedMs: () => number;
  now: () => number;
  dispatch: (what: SessionEventBody) => void;
  state: () => SessionState;
  /** The transcript of the whole call so far. @param onLine the heard parts of utterances that are still playing */
  transcriptSoFar(onLine: readonly TranscriptTurn[]): readonly TranscriptTurn[];
  storeTurn(turn: TranscriptTurn): void;
  /** Called when a session is ready. */
  onReady(): void;
}

/** Connects a session with the provider: turns messages into session events, and session commands into messages. */
export function openProviderSide(p: ProviderSideDeps) {
  const { call, settings, timings, logger, now, dispatch, state } = p;
  const { callId } = call;
  const send = (event: ClientEvent) => link.send(event);
  const setAutoReply = (answers: boolean) =>
    send({ type: 'session.update', session: autoReplySettings(settings, answers) });
  const transcription = createCallerTranscription(settings);
  const link = createProviderLink({
    settings,
    call,
    transcription,
    timings,
    handlers: {
      onReady(how) {
        p.onReady();
        caller.begin();
        costs.begin();
        if (!state().provider.mayReply) setAutoReply(false);
        responses.next();
        if (how !== 'renewed') dispatch({ type: 'provider_back' });
      },
      onEvent: (event) => events.onEvent(event),
      onOutage(why, report) {
        fail(why, report);
        logger.warn({ callId, why }, 'provider connection lost; reconnecting');
        forget();
      },
      onTranscriberRejected(why, report) {
        fail(why, report);
        const { transcriptionModel } = settings;
        logger.warn({ callId, why, transcriptionModel }, 'transcription model rejected; the call has no caller words');
        turns.expectNoTranscripts();
      },
      onGone(why, report, kind) {
        fail(why, report, kind);
        if (kind === 'rejected') logger.warn({ callId, why, promptTokens: link.promptTokens() }, REJECTED);
        onGone(why);
      },
      transcriptSoFar: () => p.transcriptSoFar(heardOnLine(state(), speech)),
    },
  });
  const responses = createResponses({ now, send, isReady: link.isReady });
  const costs = createResponseCosts({ ...p, link, responses });
  const speech = createProviderSpeech({ ...p, send });
  const turns = createProviderTurns(dispatch);
  const caller = createCallerAudio({ call, link, turns, dispatch });
  const tools = createToolCalls({ ...p, link, rounds: createToolRounds(now) });
  const events = createProviderEvents({
    ...p,
    showInterim: (speaker, read) => p.sink.showInterim(speaker, read),
    callId,
    link,
    responses,
    costs,
    speech,
    turns,
    tools,
    fail,
  });

  function fail(what: string, report: FailureReport | null, kind: LossKind = 'broken'): void {
    if (report === null) return;
    const blame = blameOf(report) === 'request' ? 'request' : kind === 'rejected' ? 'unclear' : 'provider';
    p.sink.storeFailure({ part: 'realtime', what, ...report }, { blame });
  }

  function forget(): void {
    events.forget();
    dispatch({ type: 'provider_lost' });
  }

  function onGone(why: string): void {
    // The engine that continues the call logs why.
    if (call.hasSuccessor !== true) logger.error({ callId, why }, 'provider session lost for good');
    forget();
    dispatch({ type: 'provider_gone', part: 'model', message: why });
  }

  return {
    link,
    /** Ends the connection for good, because the provider makes no progress. */
    giveUp(why: string): void {
      fail(why, { provider: 'openai' });
      link.close();
      onGone(why);
    },
    responses,
    /** Whether the provider transcribes the caller. */
    transcribes: transcription.isOn,
    perform: createProviderPerformer({ ...p, link, responses, speech, tools, setAutoReply }),
    onCallerAudio: (frame: Uint8Array, timestampMs: number) => caller.push(frame, timestampMs),
    giveUpClosing: () => events.giveUpClosing(),
    wordsUntil: (itemId: string, playedMs: number) => speech.wordsUntil(itemId, playedMs),

    /** Ends the call, except for the connection. @param callerSpeaks whether the caller was speaking at its end */
    async finish(callerSpeaks: boolean): Promise<void> {
      events.stop();
      speech.endAllItems();
      await caller.finish(callerSpeaks, timings.finalTranscriptMs);
      turns.finish();
    },

    /** Closes the connection when the usage of the last response is known. */
    async close(): Promise<void> {
      await costs.finish(timings.finalUsageMs);
      link.close();
    },
  };
}

function heardOnLine({ playback }: SessionState, speech: ProviderSpeech): TranscriptTurn[] {
  return playback.items.flatMap(({ id, playedMs, startedAtMs, queuedAtMs }): TranscriptTurn[] => {
    const text = speech.wordsUntil(id, playedMs);
    const startMs = startedAtMs ?? queuedAtMs;
    return text === '' ? [] : [{ speaker: 'agent', text, startMs, endMs: startMs + playedMs }];
  });
}
