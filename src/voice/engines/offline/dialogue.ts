import type { FliteVoice } from '../../audio/flite.js';
import type { Recogniser } from '../../audio/recogniser.js';
import type { AnsweredBy, EngineCall, EngineResult, EngineSink, TranscriptTurn } from '../port.js';
import { valueIn } from '../../session/parameter-values.js';
import { isWorthAnAnswer } from '../../session/reducer/dtmf.js';
import { isClosing } from '../../session/reducer/state.js';
import { answeredByInResult, whoAnswered } from '../../session/reducer/voicemail.js';
import { runSession } from '../../session/run-session.js';
import { createSessionRecorder } from '../../session/session-recorder.js';
import type { TurnTaking } from '../../session/turn-taking.js';
import { voiceNamed } from '../voices.js';
import { createCallerEar, type HeardTurn } from './caller-ear.js';
import { introductionOf, scriptedSetup, type DialogueTiming } from './dialogue-settings.js';
import { createInterview } from './interview.js';
import { createMouth } from './mouth.js';
import { createScriptPerformer } from './performer.js';
import { questionsOf } from './questions.js';
import { createScriptedModel } from './scripted-model.js';
import { createSmallTalk } from './small-talk.js';
import { summaryOf } from './summary.js';

export type { DialogueTiming };

export interface ScriptedCallDeps {
  speak(text: string, voice: FliteVoice): Promise<Uint8Array>;
  recogniser: Recogniser;
  turnTaking: TurnTaking;
  timing: DialogueTiming;
  /** Whether the result includes the session's events. */
  recordsEvents: boolean;
  /** Reports errors that do not end the call. */
  report: (error: Error) => void;
}

/**
 * Runs one call of the offline engine: greets with the instruction's first sentence and asks for the values of the
 * output template, or, without a template, answers each turn with a fixed sentence.
 *
 * Input becomes session events: VAD transitions, turns with the words a grammar recognized, DTMF digits, tones and long
 * greetings. The session decides when the agent speaks and requests a reply to a task; the script decides what it says,
 * in place of an LLM. The audio is played when the session asks for it.
 */
export function startScriptedDialogue(deps: ScriptedCallDeps, call: EngineCall, sink: EngineSink) {
  const origin = performance.now();
  const now = () => performance.now() - origin;
  const voice = voiceNamed(call.voice).flite;
  const questions = questionsOf(call.outputTemplate);
  const introduction = introductionOf(call);
  const earlier = call.resume?.turns ?? [];
  const setup = scriptedSetup(deps.timing, call);
  let spoken = earlier.filter(({ speaker }) => speaker === 'agent').length;
  let lastTurn: HeardTurn | undefined;
  let isOpen = false;
  let endsAtMs: number | undefined;

  const recorder = deps.recordsEvents ? createSessionRecorder(setup) : undefined;
  const { happened, state } = runSession({
    setup,
    now,
    perform: (command) => perform(command),
    record: (event) => recorder?.record(event),
  });
  const script = questions.length > 0 ? createInterview(questions, call.resume?.values) : createSmallTalk(earlier);
  const model = createScriptedModel({ script, introduction, resumed: setup.resumed && setup.introduced, now });
  const speak = (text: string) => deps.speak(text, voice);
  const mouth = createMouth({ speak, sink, now, happened, onOver: (line) => model.lineOver(line) });
  const caller = createCallerEar({
    ...deps,
    listensForMachines: call.direction === 'outbound' && call.resume === undefined,
    now,
    happened,
    grammar: () => model.grammar(),
    isClosing: () => isClosing(state()),
    onTurn,
  });
  const makeReady = (text: string) => void speak(text).catch(deps.report);
  const around = { call, introduction, sink, mouth, model, caller, happened, note, makeReady };
  const perform = createScriptPerformer({ ...around, lastTurn: () => lastTurn });

  function onTurn(turn: HeardTurn): void {
    lastTurn = turn;
    if (state().stopped) model.hearsLast(turn.heard);
    else model.hears(turn.heard);
  }

  function note(turn: TranscriptTurn): void {
    if (turn.speaker === 'agent') spoken += 1;
    sink.transcript(turn);
  }

  /** Opens the session after a pause, because people first lift the phone to their ear. Nothing is said before. */
  function open(): void {
    isOpen = true;
    happened({ type: 'line_opened' });
    if (endsAtMs !== undefined) endingSoon((endsAtMs - now()) / 1_000);
  }

  function endingSoon(secondsLeft: number): void {
    endsAtMs = now() + secondsLeft * 1_000;
    if (!isOpen) return;
    model.endingSoon(secondsLeft);
    happened({ type: 'ending_soon', secondsLeft });
  }

  caller.expectDigits(model.asksForDigits());
  const opening = setTimeout(open, deps.timing.greetAfterMs);

  return {
    hear(frame: Uint8Array, timestampMs: number): void {
      if (!state().stopped) caller.push(frame, timestampMs);
    },
    key(digit: string): void {
      happened({ type: 'dtmf_digit', digit });
      if (isClosing(state()) || !isWorthAnAnswer(state())) return;
      const isWhole = model.key(digit);
      sink.values(model.values());
      if (isWhole) happened({ type: 'dtmf_entered' });
    },
    played(itemId: string, playedMs: number, complete: boolean): void {
      mouth.played(itemId, playedMs);
      happened({ type: 'item_played', itemId, playedMs, complete });
    },
    endingSoon,
    answeredBy: (who: AnsweredBy) => happened({ type: 'answered_by', who }),
    async stop(): Promise<EngineResult> {
      clearTimeout(opening);
      happened({ type: 'stopped' });
      await caller.finish();
      const values = model.values();
      const heard = earlier.filter(({ speaker }) => speaker === 'caller').length + caller.turns();
      return {
        summary: summaryOf(
          questions,
          values,
          { spoken, heard, seconds: Math.round(now() / 1_000) },
          whoAnswered(state()),
        ),
        outputParameters: Object.fromEntries(questions.map(({ key }) => [key, valueIn(values, key) ?? null])),
        ...answeredByInResult(state()),
        ...(recorder === undefined ? {} : { sessionLog: JSON.stringify(recorder.log()) }),
      };
    },
  };
}
