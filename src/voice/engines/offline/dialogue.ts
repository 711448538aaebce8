import type { Grammar, Meaning } from '../../audio/grammar.js';
import type { Recogniser } from '../../audio/recogniser.js';
import type { FliteVoice } from '../../audio/flite.js';
import type { AnsweredBy, Engine, EngineCall, EngineEnd, EngineResult, EngineSink, TranscriptTurn } from '../port.js';
import { valueIn } from '../../session/parameter-values.js';
import { filled } from '../../session/prompt.js';
import type { TurnTaking } from '../../session/turn-taking.js';
import { SILENT_GOODBYE } from '../local-lines.js';
import { dtmfInTranscript } from '../../session/reducer/dtmf.js';
import { SESSION_POLICY } from '../../session/reducer/policy.js';
import { watchSilence } from '../../session/silence-watch.js';
import { voiceNamed } from '../voices.js';
import { settledWithin } from '../../session/within.js';
import { createEar, type EndedTurn } from './ear.js';
import { createHearing } from './hearing.js';
import { createInterview } from './interview.js';
import { createMachineEar, type MachineEar, type MachineSign } from './machine-ear.js';
import { createMouth, type Mouth, type Occasion, type SpokenLine } from './mouth.js';
import { questionsOf, type Question } from './questions.js';
import type { Heard, ScriptedReply, Script } from './script.js';
import { createSmallTalk } from './small-talk.js';
import { summaryOf } from './summary.js';
import { ARE_YOU_THERE, GREETING_WITHOUT_DISCLOSURE, INTRODUCTION, openingOf } from './lines.js';
import { FEW_SECONDS_LEFT, TWENTY_SECONDS_LEFT } from './lines.js';

export interface DialogueTiming {
  /** Pause before the greeting: people put the phone to their ear first. */
  greetAfterMs: number;
  /** Mutual silence until the caller is asked whether they are there. */
  promptAfterMs: number;
  /** Silence of the caller until the call is ended. */
  endAfterMs: number;
  /** So long after the last key, the digits are complete. */
  keysPauseMs: number;
  /** After the agent's goodbye, the far end may hang up first for so long. */
  lingerMs: number;
  /** How long a far end that said goodbye may take to hang up. */
  hangUpWithinMs: number;
  /** How long a beep is waited for after a machine's greeting. */
  beepWithinMs: number;
}

export const DIALOGUE_TIMING: DialogueTiming = {
  greetAfterMs: 250,
  promptAfterMs: SESSION_POLICY.silence.repromptAfterMs,
  endAfterMs: SESSION_POLICY.silence.endAfterMs,
  keysPauseMs: SESSION_POLICY.dtmf.pauseMs,
  lingerMs: 1_500,
  hangUpWithinMs: 4_000,
  beepWithinMs: SESSION_POLICY.voicemail.quietWithoutToneMs,
};

/** Silence that ends a turn: digits are said in groups. */
const PAUSE_MS = 600;
const PAUSE_IN_DIGITS_MS = 900;
/** Of a line that is cut off before this nobody knows what it asks. */
const QUESTION_HEARD_MS = 1_000;
/** With less than this left, nobody says twenty. */
const ABOUT_TWENTY_SECONDS = 14;
/** A caller who goes on speaking is told of the end all the same after this time. */
const NOTICE_PATIENCE_MS = 4_000;
/** Nobody is cut off in a last sentence, if it is short. */
const LAST_SENTENCE_MS = 4_000;
const TICK_MS = 200;
/** What may still be understood of the last words when the call is over. */
const LAST_WORDS_MS = 2_000;
/** Stands in the transcript for words that were not understood. */
const UNKNOWN_WORDS = '(speech)';
const KEY_MS = 100;
const BEFORE_GREETING: Grammar = { kind: 'commands' };

/**
 * One call of the offline engine: greets by the instruction's first sentence and asks for what the output template names,
 * or, without a template, answers each turn with a fixed line. It understands the answers to its questions, nothing else.
 */
export function createDialogue(deps: {
  name: string;
  speak(text: string, voice: FliteVoice): Promise<Uint8Array>;
  recogniser: Recogniser;
  turnTaking: TurnTaking;
  timing: DialogueTiming;
  /** Told of faults that the call outlives. */
  report(error: Error): void;
}): Engine {
  const { recogniser, turnTaking, timing } = deps;
  const origin = performance.now();
  const now = () => performance.now() - origin;
  const ear = createEar({ turnTaking, now });
  const hearing = createHearing({ recogniser, report: (error) => deps.report(error) });
  let call: EngineCall | undefined;
  let sink: EngineSink | undefined;
  let mouth: Mouth | undefined;
  let script: Script = createSmallTalk();
  let questions: readonly Question[] = [];
  let machineEar: MachineEar | undefined;
  let ticking: NodeJS.Timeout | undefined;
  let stopped = false;
  let leaving = false;
  let greetings = 0;
  let greeted = false;
  /** The last line was cut off before its question could be heard. */
  let unheard = false;
  /** A bridging sentence takes the greeting's place. */
  let bridges = false;
  let spoken = 0;
  let heard = 0;
  let answeredBy: AnsweredBy = 'unknown';
  /** Nothing is said but the message, and that after a beep or at this time. */
  let messageAtMs: number | undefined;
  let machineSinceMs = 0;
  /** Goodbye is said: the far end may hang up first, until then. */
  let farewell: { waitMs: number; untilMs?: number } | undefined;
  let keyed: { keys: string; startMs: number; endMs: number } | undefined;
  /** What is left to be said of the end that is forced. */
  let notice: { endsAtMs: number; sinceMs: number } | undefined;
  const silence = watchSilence({
    patience: timing,
    isBusy,
    onPrompt: () => void say([ARE_YOU_THERE, ...script.again()], 'prompt'),
    onEnd: () => void leave('silence', [SILENT_GOODBYE]),
    now,
  });
  /** Turns are understood one after the other. */
  let listening: Promise<void> = Promise.resolve();

  /** Somebody speaks or is about to, or the call is ending. */
  function isBusy(): boolean {
    const isEnding = isSilentNow() || notice !== undefined || farewell !== undefined;
    return isEnding || mouth?.saying() !== undefined || turnTaking.openTurn() !== undefined;
  }

  const isSilentNow = () => stopped || leaving || messageAtMs !== undefined;

  function say(parts: readonly string[], kind: SpokenLine['kind'], occasion?: Occasion): Promise<void> {
    return mouth?.say(parts, kind, occasion) ?? Promise.resolve();
  }

  function greet(occasion?: Occasion): Promise<void> {
    if (call === undefined) return Promise.resolve();
    greetings += 1;
    const parts = bridges ? script.bridge() : [...introductionOf(call), ...script.opening()];
    return say(parts, 'greeting', occasion);
  }

  /** Takes up the talk where another process left it. Who was not told yet that a machine speaks is greeted. */
  function takeUp(turns: readonly TranscriptTurn[], disclosesAi: boolean): void {
    spoken = turns.filter(({ speaker }) => speaker === 'agent').length;
    heard = turns.length - spoken;
    bridges = disclosesAi ? turns.some(isIntroduction) : spoken > 0;
  }

  async function leave(reason: EngineEnd, parts: readonly string[]): Promise<void> {
    if (leaving) return;
    leaving = true;
    await say(parts, 'line');
    if (!stopped) sink?.end(reason);
  }

  function onSaid({ kind, playedMs }: SpokenLine, complete: boolean): void {
    if (kind === 'greeting' && (complete || playedMs >= SESSION_POLICY.introduction.heardAfterMs)) greeted = true;
    if (kind === 'line') unheard = false;
    if (kind !== 'prompt') silence.agentDone();
    if (playedMs > 0) spoken += 1;
    if (farewell !== undefined) farewell.untilMs = now() + farewell.waitMs;
  }

  async function reply({ parts, over }: ScriptedReply, occasion?: Occasion): Promise<void> {
    sink?.values(script.values());
    if (isSilentNow()) return;
    if (over !== undefined) farewell = { waitMs: over === 'agent' ? timing.lingerMs : timing.hangUpWithinMs };
    const saying = say(parts, 'line', occasion);
    pauseForAnswer();
    for (const text of script.upcoming()) void makeReady(text);
    return saying;
  }

  function pauseForAnswer(): void {
    turnTaking.endTurnAfter(script.grammar()?.kind === 'digits' ? PAUSE_IN_DIGITS_MS : PAUSE_MS);
  }

  async function makeReady(text: string): Promise<void> {
    try {
      await deps.speak(text, voiceNamed(call?.voice ?? '').flite);
    } catch (error) {
      deps.report(asError(error));
    }
  }

  /** What is listened for: before the greeting was heard, no answer can be one. */
  function grammarNow(): Grammar | undefined {
    const asked = script.grammar();
    return asked === undefined || greeted ? asked : BEFORE_GREETING;
  }

  function onCallerTurn(turn: EndedTurn): void {
    heard += 1;
    silence.callerHeard();
    const endedAtMs = now();
    listening = listening.then(async () => {
      const outcome = await hearing.understand(turn, grammarNow());
      const recognisedInMs = now() - endedAtMs;
      const text = outcome.outcome === 'understood' ? outcome.text : UNKNOWN_WORDS;
      sink?.transcript({ speaker: 'caller', text, startMs: turn.startMs, endMs: turn.endMs });
      if (outcome.outcome === 'understood' && !isHello(outcome.meaning)) person();
      const parts = { pause: endedAtMs - turn.lastVoiceAtMs, recogniser: recognisedInMs };
      answer(outcome, { sinceMs: turn.lastVoiceAtMs, parts });
    });
  }

  /** Somebody who answers, or presses keys, is no machine. */
  function person(): void {
    if (answeredBy !== 'voicemail') answeredBy = 'human';
    machineEar = undefined;
  }

  function answer(outcome: Heard, occasion: Occasion): void {
    if (stopped) {
      // The last words before the far end hung up still count.
      if (outcome.outcome === 'understood' && greeted && !unheard) script.onHeard(outcome);
      return;
    }
    if (isSilentNow() || farewell !== undefined || mouth?.saying() !== undefined) return;
    // A noise, the tones of the keys among them, must not take away what is being keyed in.
    if (keyed !== undefined && outcome.outcome !== 'understood') return;
    if (!greeted && greetings < SESSION_POLICY.introduction.attempts) return void greet(occasion);
    noteKeys();
    const isAnswer = greeted && !unheard;
    greeted = true;
    void reply(script.onHeard(isAnswer || isCommand(outcome) ? outcome : REPEAT), occasion);
  }

  function onMachine(sign: MachineSign | 'carrier'): void {
    if (call === undefined || stopped || leaving) return;
    answeredBy = 'voicemail';
    if (call.voicemail.action === 'continue') return;
    mouth?.hush();
    if (call.voicemail.action === 'hang_up') return void leave('voicemail', []);
    if (sign === 'beep') return leaveMessage();
    if (messageAtMs === undefined) machineSinceMs = now();
    // The carrier waits for the end of the greeting and the tone.
    const quietMs = sign === 'carrier' ? SESSION_POLICY.voicemail.quietAfterToneMs : timing.beepWithinMs;
    messageAtMs ??= now() + quietMs;
  }

  function leaveMessage(): void {
    if (call === undefined || leaving) return;
    const { message } = call.voicemail;
    const parts = message === undefined ? introductionOf(call) : [filled(message, call.inputParameters)];
    messageAtMs = undefined;
    machineEar = undefined;
    leaving = true;
    void say(parts, 'message').then(() => stopped || sink?.end('voicemail'));
  }

  function endKeys(next: ScriptedReply | undefined): void {
    if (next === undefined || keyed === undefined) return;
    noteKeys();
    greeted = true;
    void reply(next);
  }

  function noteKeys(): void {
    if (keyed === undefined) return;
    const { keys, startMs, endMs } = keyed;
    keyed = undefined;
    sink?.transcript({ speaker: 'caller', text: dtmfInTranscript(keys), startMs, endMs });
  }

  function tellOfEnd(): void {
    const secondsLeft = ((notice?.endsAtMs ?? 0) - now()) / 1_000;
    notice = undefined;
    void say([secondsLeft >= ABOUT_TWENTY_SECONDS ? TWENTY_SECONDS_LEFT : FEW_SECONDS_LEFT], 'prompt');
  }

  function tick(): void {
    mouth?.tick();
    if (leaving || mouth?.saying() !== undefined) return;
    const callerSpeaks = turnTaking.openTurn() !== undefined;
    if (messageAtMs !== undefined) {
      const isPatient = now() - machineSinceMs < SESSION_POLICY.voicemail.greetingWithinMs;
      if ((!callerSpeaks || !isPatient) && now() >= messageAtMs) leaveMessage();
      return;
    }
    if (farewell !== undefined) {
      const untilMs = (farewell.untilMs ?? Infinity) + (callerSpeaks ? LAST_SENTENCE_MS : 0);
      if (now() >= untilMs) void leave('agent_hangup', []);
      return;
    }
    if (keyed !== undefined && now() - keyed.endMs >= timing.keysPauseMs) return endKeys(script.onKeysPaused());
    if (notice !== undefined && (!callerSpeaks || now() - notice.sinceMs >= NOTICE_PATIENCE_MS)) return tellOfEnd();
  }

  return {
    name: deps.name,
    capabilities: { freeForm: false, dtmf: true },

    async start(startedCall, startedSink) {
      call = startedCall;
      sink = startedSink;
      const voice = voiceNamed(call.voice).flite;
      mouth = createMouth({ speak: (text) => deps.speak(text, voice), sink, now, onFinished: onSaid });
      questions = questionsOf(call.outputTemplate);
      const { resume } = call;
      script = questions.length > 0 ? createInterview(questions, resume?.values) : createSmallTalk(resume?.turns);
      ticking = setInterval(tick, TICK_MS);
      silence.start();
      pauseForAnswer();
      if (resume !== undefined) takeUp(resume.turns, call.disclosesAi);
      else if (call.direction === 'outbound') machineEar = createMachineEar();
      await new Promise((resolve) => setTimeout(resolve, timing.greetAfterMs));
      // Who answers with a word gets an answer to it: the greeting comes after their turn.
      if (turnTaking.openTurn() === undefined && greetings === 0 && !isSilentNow()) await greet();
    },

    onCallerAudio(frame, timestampMs) {
      if (stopped) return;
      const { voiceMs, ended, pausing } = ear.push(frame, timestampMs);
      if (pausing !== undefined && !isSilentNow()) hearing.understandAhead(pausing, grammarNow());
      if (voiceMs > 0) silence.callerHeard();
      const saying = mouth?.saying();
      if (voiceMs > 0 && saying !== undefined && saying.lengthMs > 0 && !leaving && !farewell) {
        mouth?.hush();
        unheard = saying.kind === 'line' && saying.playedMs < QUESTION_HEARD_MS;
      }
      const sign = machineEar?.push(frame, timestampMs, ended);
      if (sign !== undefined) onMachine(sign);
      if (ended !== undefined) onCallerTurn(ended);
    },

    onDtmf(digit) {
      silence.callerHeard();
      if (isSilentNow() || farewell !== undefined || questions.length === 0) return;
      person();
      mouth?.hush();
      const endMs = Math.round(now());
      keyed = { keys: (keyed?.keys ?? '') + digit, startMs: keyed?.startMs ?? Math.max(0, endMs - KEY_MS), endMs };
      endKeys(script.onKey(digit));
    },

    onPlayed: (itemId, playedMs, complete) => mouth?.onPlayed(itemId, playedMs, complete),

    onEndingSoon(secondsLeft) {
      notice = { endsAtMs: now() + secondsLeft * 1_000, sinceMs: now() };
    },

    onAnsweredBy(who) {
      if (who === 'voicemail' && answeredBy === 'unknown') onMachine('carrier');
      else if (who === 'human') person();
    },

    async stop(): Promise<EngineResult> {
      stopped = true;
      clearInterval(ticking);
      silence.stop();
      mouth?.close();
      const openTurn = ear.openTurn();
      if (openTurn !== undefined) onCallerTurn(openTurn);
      await settledWithin(LAST_WORDS_MS, listening);
      noteKeys();
      ear.free();
      const values = script.values();
      const counts = { spoken, heard, seconds: Math.round(now() / 1_000) };
      return {
        summary: summaryOf(questions, values, counts, answeredBy),
        outputParameters: Object.fromEntries(questions.map(({ key }) => [key, valueIn(values, key) ?? null])),
        answeredBy,
      };
    },
  };
}

/** Who speaks, and what about: the instruction's first sentence. */
function introductionOf({ instruction, inputParameters, disclosesAi }: EngineCall): string[] {
  const opening = openingOf(filled(instruction, inputParameters));
  if (disclosesAi) return opening === '' ? [INTRODUCTION] : [INTRODUCTION, opening];
  return [opening === '' ? GREETING_WITHOUT_DISCLOSURE : opening];
}

/** What was heard of an agent's line: of one that was cut off, the words until then. */
function isIntroduction({ speaker, text }: TranscriptTurn): boolean {
  return speaker === 'agent' && text.startsWith(INTRODUCTION);
}

/** What is said to a question that was not heard is no answer to it. */
const REPEAT: Heard = { outcome: 'understood', text: '', meaning: { kind: 'command', command: 'repeat' } };

function isCommand(heard: Heard): boolean {
  return heard.outcome === 'understood' && heard.meaning.kind === 'command';
}

/** Machines say it, too. */
function isHello(meaning: Meaning): boolean {
  return meaning.kind === 'command' && meaning.command === 'hello';
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
