import type { SessionHappening } from '../../session/reducer/events.js';
import type { SessionState } from '../../session/reducer/state.js';
import { createToolRounds } from '../../session/tool-rounds.js';
import type { UsageMeter } from '../engine-usage.js';
import type { EngineCall, EngineSink, TranscriptTurn } from '../port.js';
import { createCallerSide } from './caller-side.js';
import { createProviderTurns } from './caller-turns.js';
import { createProviderPerformer } from './performer.js';
import type { ClientEvent } from './protocol.js';
import { createProviderEvents } from './provider-events.js';
import { createProviderLink } from './provider-link.js';
import { createResponses } from './responses.js';
import { answering } from './session-settings.js';
import { createProviderSpeech, type ProviderSpeech } from './speech.js';
import type { TalkDeps } from './talk-settings.js';
import { createToolCalls } from './tool-calls.js';

interface ProviderSideDeps extends TalkDeps {
  call: EngineCall;
  sink: EngineSink;
  usage: UsageMeter;
  now: () => number;
  happened: (what: SessionHappening) => void;
  state: () => SessionState;
  /** The transcript of the whole call so far, including the heard part of the audio on the line. */
  soFar(onLine: readonly TranscriptTurn[]): readonly TranscriptTurn[];
  note(turn: TranscriptTurn): void;
}

/** The provider's side of a call: turns its messages into session events, and session commands into messages. */
export function openProviderSide(p: ProviderSideDeps) {
  const { call, settings, timings, logger, now, happened, state } = p;
  const { callId } = call;
  const send = (event: ClientEvent) => link.send(event);
  const letAnswer = (answers: boolean) => send({ type: 'session.update', session: answering(settings, answers) });
  const link = createProviderLink({
    settings,
    call,
    timings,
    handlers: {
      onReady(how) {
        caller.begin();
        if (!state().provider.answers) letAnswer(false);
        responses.next();
        if (how !== 'renewed') happened({ type: 'provider_back' });
      },
      onEvent: (event) => events.onEvent(event),
      onOutage(why) {
        logger.warn({ callId, why }, 'the provider went away; dialing it again');
        forget();
      },
      onGone(why) {
        logger.error({ callId, why }, 'the provider is gone');
        forget();
        happened({ type: 'provider_gone', part: 'model', message: why });
      },
      soFar: () => p.soFar(heardOnLine(state(), speech)),
    },
  });
  const responses = createResponses({ now, send, isReady: link.isReady });
  const speech = createProviderSpeech({ ...p, send });
  const turns = createProviderTurns(happened);
  const caller = createCallerSide({ call, link, turns, happened });
  const tools = createToolCalls({ ...p, link, rounds: createToolRounds(now) });
  const events = createProviderEvents({ ...p, callId, link, responses, speech, turns, tools });

  function forget(): void {
    events.forget();
    happened({ type: 'provider_lost' });
  }

  return {
    link,
    responses,
    perform: createProviderPerformer({ ...p, link, responses, speech, tools, letAnswer }),
    hear: (frame: Uint8Array, timestampMs: number) => caller.hear(frame, timestampMs),
    giveUpLastWords: () => events.giveUpLastWords(),

    /** Ends the call. @param callerSpeaks whether the caller was speaking at its end */
    async close(callerSpeaks: boolean): Promise<void> {
      events.stop();
      speech.allSaid();
      await caller.finish(callerSpeaks, timings.lastWordsMs);
      link.close();
      turns.finish();
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
