import type { FliteVoice } from '../../audio/flite.js';
import type { GrammarStt } from '../../audio/grammar-stt.js';
import { otherSettingsIgnored } from '../ignored-settings.js';
import type { EngineCall, EngineResult, EngineSink, TranscriptTurn } from '../port.js';
import { valueIn } from '../../session/parameter-values.js';
import { isFullEntry, needsReply } from '../../session/reducer/dtmf.js';
import { isClosing } from '../../session/reducer/state.js';
import { answeredByInResult, answeredByOf } from '../../session/reducer/voicemail.js';
import { runSession } from '../../session/run-session.js';
import { createSessionRecorder } from '../../session/session-recorder.js';
import type { TurnTaking } from '../../session/turn-taking.js';
import { findVoice } from '../voices.js';
import { createCallerListener, type RecognizedTurn } from './caller-listener.js';
import { buildIntroduction, offlineSetup, type OfflineTimings } from './session-setup.js';
import { createInterview } from './interview.js';
import { createUtterancePlayer } from './utterance-player.js';
import { createScriptPerformer } from './performer.js';
import { createQuestions } from './questions.js';
import { createScriptedModel } from './scripted-model.js';
import { createSmallTalk } from './small-talk.js';
import { summarizeCall } from './summary.js';

export type { OfflineTimings };

export interface OfflineSessionDeps {
  speak(text: string, voice: FliteVoice): Promise<Uint8Array>;
  stt: GrammarStt;
  turnTaking: TurnTaking;
  timing: OfflineTimings;
  /** Whether the result includes the session's events. */
  recordsEvents: boolean;
  /** Reports errors that do not end the call. */
  report: (error: Error) => void;
}

/**
 * Runs one call of the offline engine: greets with the instruction's first sentence and asks for the values of the
 * output template, or, without a template, answers each turn with a fixed sentence.
 *
 * Input becomes session events: VAD transitions, turns with the recognized words, DTMF digits, tones and long
 * greetings. The session decides when the agent speaks, and requests a reply to each task. The script decides what the
 * agent says, in place of an LLM. The audio is played when the session asks for it.
 */
export function startOfflineSession(deps: OfflineSessionDeps, call: EngineCall, sink: EngineSink) {
  const origin = performance.now();
  const now = () => performance.now() - origin;
  const voice = findVoice(call.voice).flite;
  const questions = createQuestions(call.outputTemplate, call.canType);
  const introduction = buildIntroduction(call);
  const earlier = call.resume?.turns ?? [];
  const setup = offlineSetup(deps.timing, call);
  let spoken = earlier.filter(({ speaker }) => speaker === 'agent').length;
  let lastTurn: RecognizedTurn | undefined;
  let isOpen = false;
  let endsAtMs: number | undefined;

  const recorder = deps.recordsEvents ? createSessionRecorder(setup) : undefined;
  const { dispatch, state, onAnsweredBy } = runSession({
    setup,
    now,
    perform: (command) => perform(command),
    record: (event) => recorder?.record(event),
  });
  const script = questions.length > 0 ? createInterview(questions, call.resume?.values) : createSmallTalk(earlier);
  const model = createScriptedModel({ script, introduction, resumed: setup.resumed && setup.introduced, now });
  const speak = (text: string) => deps.speak(text, voice);
  const player = createUtterancePlayer({
    speak,
    sink,
    now,
    dispatch,
    onEnd: (outcome) => model.onUtteranceEnd(outcome),
  });
  const caller = createCallerListener({
    ...deps,
    detectsMachines: call.direction === 'outbound' && call.resume === undefined,
    now,
    dispatch,
    grammar: () => model.grammar(),
    typedGrammar: () => script.grammar(),
    isClosing: () => isClosing(state()),
    onTurn,
  });
  const synthesizeAhead = (text: string) => void speak(text).catch(deps.report);
  const around = { call, introduction, sink, player, model, caller, dispatch, storeTurn, synthesizeAhead };
  const perform = createScriptPerformer({ ...around, lastTurn: () => lastTurn });

  function onTurn(turn: RecognizedTurn): void {
    lastTurn = turn;
    if (state().stopped) model.takeFinalTurn(turn.heard);
    else model.setTurn(turn.heard);
  }

  function storeTurn(turn: TranscriptTurn): void {
    if (turn.speaker === 'agent') spoken += 1;
    sink.storeTurn(turn);
  }

  /**
   * Opens the session, so that the agent may speak. Called some time after the answer, because a person first has to
   * lift the phone.
   */
  function open(): void {
    isOpen = true;
    dispatch({ type: 'line_opened' });
    if (endsAtMs !== undefined) onEndingSoon((endsAtMs - now()) / 1_000);
  }

  function onEndingSoon(secondsLeft: number): void {
    endsAtMs = now() + secondsLeft * 1_000;
    if (!isOpen) return;
    model.endingSoon(secondsLeft);
    dispatch({ type: 'ending_soon', secondsLeft });
  }

  caller.expectDigits(model.asksForDigits());
  const opening = setTimeout(open, deps.timing.greetAfterMs);

  return {
    onCallerAudio(frame: Uint8Array, timestampMs: number): void {
      if (!state().stopped) caller.push(frame, timestampMs);
    },
    onDtmf(digit: string): void {
      if (isFullEntry(state())) return;
      dispatch({ type: 'dtmf_digit', digit });
      if (isClosing(state()) || !needsReply(state())) return;
      const isWhole = model.onDigit(digit);
      sink.storeValues(model.values());
      if (isWhole) dispatch({ type: 'dtmf_entered' });
    },
    onText(text: string): void {
      if (!state().stopped) caller.type(text);
    },
    onPlayed(itemId: string, playedMs: number, complete: boolean): void {
      player.played(itemId, playedMs);
      dispatch({ type: 'item_played', itemId, playedMs, complete });
      sink.showInterim('agent', () => player.heard(itemId));
    },
    onEndingSoon,
    onAnsweredBy,
    async stop(): Promise<EngineResult> {
      clearTimeout(opening);
      dispatch({ type: 'stopped' });
      await caller.finish();
      const values = model.values();
      const heard = earlier.filter(({ speaker }) => speaker === 'caller').length + caller.turns();
      return {
        summary: summarizeCall(
          questions,
          values,
          { spoken, heard, seconds: Math.round(now() / 1_000) },
          answeredByOf(state()),
        ),
        outputParameters: Object.fromEntries(questions.map(({ key }) => [key, valueIn(values, key) ?? null])),
        ...answeredByInResult(state()),
        ...otherSettingsIgnored(call, ['firstSpeaker', 'firstMessage', 'backgroundSound']),
        ...(recorder === undefined ? {} : { sessionLogs: [JSON.stringify(recorder.log())] }),
      };
    },
  };
}
