import { FRAME_MS } from '../../audio/frame.js';
import { SESSION_POLICY, type SessionPolicy } from '../../session/reducer/policy.js';
import type { SessionSetup } from '../../session/reducer/state.js';
import { answeredByInResult } from '../../session/reducer/voicemail.js';
import { listenForTone } from '../../session/mailbox-tone.js';
import { createSessionRecorder } from '../../session/session-recorder.js';
import { runSession } from '../../session/run-session.js';
import { createToolRounds } from '../../session/tool-rounds.js';
import { isIntroduced, promptFor } from '../../session/prompt.js';
import type { SilencePatience } from '../../session/silence-patience.js';
import type { TurnTaking } from '../../session/turn-taking.js';
import type { AnsweredBy, EngineCall, EngineResult, EngineSink, TranscriptTurn } from '../port.js';
import { createUsageMeter, type EnginePrices, type UsageMeter } from '../engine-usage.js';
import type { Conclusion } from '../../models/conclusion.js';
import { listenToCaller } from './caller-side.js';
import { createPerformer } from './performer.js';
import type { ChatModel, ProviderError, SpeechToText, TextToSpeech } from './ports.js';
import type { PreparedLines } from './prepared-lines.js';
import { createReplies } from './replies.js';
import { createSpeech, meteredVoice } from './speech.js';
import { createTalk } from './talk.js';

export interface DialogueDeps {
  recogniser: SpeechToText;
  model: ChatModel;
  voice: TextToSpeech;
  turnTaking: TurnTaking;
  prepared: PreparedLines;
  conclude(call: EngineCall, turns: readonly TranscriptTurn[], usage: UsageMeter): Promise<Conclusion>;
  prices: EnginePrices;
  patience?: Partial<SilencePatience>;
  recogniserSilentMs?: number;
  /** Whether the result includes the session's events. */
  recordsEvents?: boolean;
  log(callId: string, message: string, error?: Error): void;
}

/** Runs one call of the pipeline engine: turns provider messages into session events, and commands into requests. */
export function startDialogue(deps: DialogueDeps, call: EngineCall, sink: EngineSink) {
  const origin = performance.now();
  const now = () => performance.now() - origin;
  const usage = createUsageMeter(deps.prices);
  const talk = createTalk(promptFor(call));
  const turns: TranscriptTurn[] = [];
  const tone = listenForTone(call.voicemail.action);
  const setup = setupOf(deps, call);
  let stopped = false;
  let frames = 0;

  const recorder = deps.recordsEvents === true ? createSessionRecorder(setup) : undefined;
  const session = runSession({
    setup,
    now,
    perform: (command) => perform(command),
    record: (event) => recorder?.record(event),
  });
  const { happened } = session;
  const speech = createSpeech({
    voice: meteredVoice(deps.voice, usage),
    voiceName: call.voice,
    language: call.language,
    sink,
    happened,
  });
  const caller = listenToCaller({
    turnTaking: deps.turnTaking,
    recogniser: deps.recogniser,
    language: call.language,
    stalledMs: setup.policy.turns.stalledAfterMs,
    now,
    happened(what) {
      if (what.type === 'recogniser_lost') deps.log(call.callId, 'the recogniser was lost and is opened again');
      happened(what);
    },
    onGone: gone,
  });
  const replies = createReplies({
    deps,
    call,
    sink,
    talk,
    usage,
    now,
    speech,
    toolRounds: createToolRounds(now),
    happened,
  });
  const perform = createPerformer({
    call,
    sink,
    talk,
    speech,
    caller,
    replies,
    prepared: deps.prepared,
    note,
    itemFailed,
  });

  function gone(error: ProviderError): void {
    deps.log(call.callId, 'a provider is gone', error);
    happened({ type: 'provider_gone', part: error.part, message: error.message });
  }

  function itemFailed(itemId: string, error: ProviderError): void {
    happened({ type: 'item_failed', itemId, part: error.part, message: error.message });
  }

  function note(turn: TranscriptTurn): void {
    turns.push(turn);
    sink.transcript(turn);
  }

  happened({ type: 'line_opened' });

  return {
    hear(frame: Uint8Array, timestampMs: number): void {
      if (stopped) return;
      frames += 1;
      if (tone.hear(frame, timestampMs)) happened({ type: 'tone_heard', streamMs: timestampMs + FRAME_MS });
      caller.push(frame, timestampMs);
    },
    key: (digit: string) => happened({ type: 'dtmf_digit', digit }),
    played(itemId: string, playedMs: number, complete: boolean): void {
      happened({ type: 'item_played', itemId, playedMs, complete });
      speech.played(itemId, playedMs);
    },
    endingSoon: (secondsLeft: number) => happened({ type: 'ending_soon', secondsLeft }),
    answeredBy: (who: AnsweredBy) => happened({ type: 'answered_by', who }),
    async stop(): Promise<EngineResult> {
      stopped = true;
      happened({ type: 'stopped' });
      caller.close();
      usage.add('recogniser_seconds', Math.round((frames * FRAME_MS) / 1_000));
      const all = [...(call.resume?.turns ?? []), ...turns];
      const conclusion = await deps.conclude(call, all, usage);
      return {
        ...conclusion,
        usage: usage.total(),
        ...answeredByInResult(session.state()),
        ...(recorder === undefined ? {} : { sessionLog: JSON.stringify(recorder.log()) }),
      };
    },
  };
}

function setupOf({ patience, recogniserSilentMs, recogniser }: DialogueDeps, call: EngineCall): SessionSetup {
  const { silence, turns } = SESSION_POLICY;
  const policy: SessionPolicy = {
    ...SESSION_POLICY,
    silence: {
      repromptAfterMs: patience?.promptAfterMs ?? silence.repromptAfterMs,
      endAfterMs: patience?.endAfterMs ?? silence.endAfterMs,
    },
    turns: { ...turns, stalledAfterMs: recogniserSilentMs ?? turns.stalledAfterMs },
  };
  return {
    policy,
    capabilities: { endsTurns: recogniser.decidesTurns ? 'engine' : 'session' },
    voicemail: { action: call.voicemail.action, hasMessage: call.voicemail.message !== undefined },
    isInbound: call.direction === 'inbound',
    resumed: call.resume !== undefined,
    introduced: isIntroduced(call),
  };
}
