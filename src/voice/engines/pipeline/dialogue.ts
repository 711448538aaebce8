import { collectKeys } from '../../session/key-collector.js';
import { filled, goesOn, promptFor } from '../../session/prompt.js';
import type { AnsweredBy, EngineCall, EngineResult, EngineSink, ToolAnswer, TranscriptTurn } from '../port.js';
import { watchSilence, type SilencePatience } from '../../session/silence-watch.js';
import { createToolRounds } from '../../session/tool-rounds.js';
import type { TurnTaking } from '../../session/turn-taking.js';
import { createUsageMeter, type EnginePrices, type UsageMeter } from '../engine-usage.js';
import type { Conclusion } from '../../models/conclusion.js';
import { createAnsweringMachine } from './answering-machine.js';
import { createCallerTurns, type SpokenTurn } from './caller-turns.js';
import { createFiller } from './filler.js';
import { createLastWords } from './last-words.js';
import { phrasesOf } from './phrases.js';
import type { ChatModel, ProviderError, SpeechToText, ToolRequest, TextToSpeech } from './ports.js';
import type { PreparedLines } from './prepared-lines.js';
import { startReply, type Reply } from './reply.js';
import { createSpeech, meteredVoice } from './speech.js';
import { callerMessage, createTalk } from './talk.js';
import { ANSWERING_MACHINE, argumentsOf, isLastTool, toolsFor } from './tools.js';
import { latencyOf, type Waiting } from './waiting.js';

/** Voice over the agent's that makes it stop; the first 160 ms of it are what makes it voice at all. */
const BARGE_IN_MS = 200;
const TICK_MS = 200;
const FRAME_SECONDS = 0.02;

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
  log(callId: string, message: string, error?: Error): void;
}

/** One call of the pipeline engine, once its line is open: what is heard becomes turns, turns become replies, replies become speech. */
export function startDialogue(deps: DialogueDeps, call: EngineCall, sink: EngineSink) {
  const origin = performance.now();
  const now = () => performance.now() - origin;
  const phrases = phrasesOf(call.language);
  const usage = createUsageMeter(deps.prices);
  const talk = createTalk(promptFor(call));
  const turns: TranscriptTurn[] = [];
  const toolRounds = createToolRounds(now);
  let reply: Reply | undefined;
  /** The words that a reply was begun for before they were known to be all. */
  let unconfirmedText: string | undefined;
  /** What an earlier reply asked of tools is waited for: the next one must know of it. */
  let toolsCalled: Promise<unknown> = Promise.resolve();
  let waiting: Waiting | undefined;
  /** The talk is being ended: nothing that is heard changes that. */
  let leaving = false;
  let stopped = false;
  /** What is to be told to the model if it turns out that there are no words to answer. */
  let owed: 'the rest' | 'a question' | undefined;
  let wrapUpDue = false;
  let frames = 0;
  let carrierHeard: AnsweredBy | undefined;

  const speech = createSpeech({
    voice: meteredVoice(deps.voice, usage),
    voiceName: call.voice,
    language: call.language,
    sink,
    now,
    onTurn: note,
  });

  const filler = createFiller({
    audio: () => deps.prepared.audioOf('oneMoment', call.voice, call.language),
    // Only in a talk that has begun: nobody pays for a call in which nothing but this was heard.
    isNeeded: () => !stopped && !leaving && conversed() && !speech.isSpeaking() && !answerIsHere(),
    callerSpeaks: () => hearing.callerSpeaks(),
    say: (mulaw) => speech.fill(phrases.oneMoment, mulaw),
  });

  const hearing = createCallerTurns({
    turnTaking: deps.turnTaking,
    recogniser: deps.recogniser,
    language: call.language,
    now,
    ...(deps.recogniserSilentMs === undefined ? {} : { stalledMs: deps.recogniserSilentMs }),
    events: {
      onVoice(voiceMs) {
        machine.voice();
        silence.callerHeard();
        if (voiceMs >= BARGE_IN_MS) bargeIn();
      },
      onWords() {
        silence.callerHeard();
        if (hearing.callerSpeaks()) bargeIn();
      },
      onMayEnd(text) {
        if (leaving || speech.isSpeaking() || reply?.isRunning() === true) return;
        beginReply({ confirmed: false, heard: text });
      },
      onGoesOn: dropUnconfirmed,
      onTurn,
      onNoise() {
        if (owed === undefined || leaving || reply?.isRunning() === true) return;
        if (speech.isSpeaking() && !speech.isOnlyFilling()) return;
        if (owed === 'the rest') answer('The far end made a noise, without words. Go on where you stopped.');
        else answer('The far end said something that could not be understood. Ask for it again.');
      },
      onTrouble(callerWaits) {
        deps.log(call.callId, 'the recogniser was lost and is opened again');
        if (!callerWaits) return;
        owed ??= 'a question';
        filler.now();
      },
      onGone: fail,
    },
  });

  const silence = watchSilence({
    ...(deps.patience === undefined ? {} : { patience: deps.patience }),
    isBusy,
    onPrompt: () =>
      void speech.say(phrases.areYouThere, { onFailed: fail, onEnded: () => talk.agent(phrases.areYouThere) }),
    onEnd: () => lastWords.part(() => sink.end('silence')),
  });

  const keys = collectKeys(onKeys);

  const machine = createAnsweringMachine({
    action: call.voicemail.action,
    now,
    farEndSpeaks: () => hearing.callerSpeaks(),
    isToldByCarrier: () => carrierHeard === 'voicemail',
    onMet() {
      leaving = true;
      stopReply();
    },
    hangUp: () => sink.end('voicemail'),
    leaveMessage,
  });

  const lastWords = createLastWords({
    speech,
    phrases,
    prepared: (line) => deps.prepared.audioOf(line, call.voice, call.language),
    onBegin() {
      leaving = true;
      filler.stop();
      stopReply();
    },
    isStopped: () => stopped,
  });

  function isBusy(): boolean {
    return leaving || speech.isSpeaking() || reply?.isRunning() === true || hearing.callerSpeaks();
  }

  function note(turn: TranscriptTurn): void {
    turns.push(turn);
    sink.transcript(turn);
  }

  function onKeys(pressed: string, sinceMs: number): void {
    const spaced = pressed.split('').join(' ');
    const endMs = Math.round(now());
    const startMs = Math.max(0, Math.min(endMs - 1, Math.round(endMs - sinceMs)));
    note({ speaker: 'caller', text: `(keys: ${spaced})`, startMs, endMs });
    if (leaving || stopped) return;
    waiting = { sinceMs: now(), knownMs: now() };
    answer(`The far end pressed these keys: ${spaced}`);
  }

  function onTurn(turn: SpokenTurn): void {
    note({ speaker: 'caller', ...turn });
    silence.callerHeard();
    owed = undefined;
    if (leaving || stopped) return;
    waiting = { sinceMs: turn.endMs, knownMs: now() };
    if (reply?.isConfirmed() === false && unconfirmedText === turn.text) {
      talk.caller(turn.text);
      talk.add(reply);
      unconfirmedText = undefined;
      wrapUpDue = false;
      filler.arm();
      reply.confirm();
      return;
    }
    talk.caller(turn.text);
    beginReply({ confirmed: true });
  }

  function beginReply(p: { confirmed: boolean; heard?: string; onDone?: () => void }): void {
    if (p.confirmed) {
      stopReply(true);
      wrapUpDue = false;
      owed = undefined;
    }
    unconfirmedText = p.heard;
    const begun: Reply = startReply({
      model: deps.model,
      tools: toolsFor(call),
      toolRounds,
      after: toolsCalled,
      messages: () => {
        const messages = talk.messages();
        if (p.heard === undefined || begun.isConfirmed()) return messages;
        return [...messages, callerMessage(p.heard)];
      },
      confirmed: p.confirmed,
      now,
      openUtterance: (options) =>
        speech.open({
          ...options,
          onEnded(itemId, { heard, complete }) {
            begun.cutAt(itemId, complete || heard === '' ? heard : `${heard} [interrupted]`);
            if (complete) silence.agentDone();
          },
        }),
      callTool,
      isLast: isLastTool,
      onUsage(counts) {
        usage.add('chat_input_tokens', counts.inputTokens);
        usage.add('chat_cached_input_tokens', counts.cachedInputTokens);
        usage.add('chat_output_tokens', counts.outputTokens);
      },
      onHeardFirst(times) {
        filler.stop();
        if (waiting !== undefined) sink.latency(latencyOf(waiting, times, now()));
        waiting = undefined;
      },
      onFailed(error) {
        if (!begun.isConfirmed()) dropUnconfirmed();
        else if (p.onDone === undefined) fail(error);
        else p.onDone();
      },
      onDone: () => {
        filler.stop();
        waiting = undefined;
        deps.prepared.prepare(call.voice, call.language);
        p.onDone?.();
      },
    });
    reply = begun;
    if (!p.confirmed) return;
    talk.add(begun);
    filler.arm();
  }

  /** The agent speaks of its own accord, or to what the telephone tells. */
  function answer(noteToModel: string, onDone?: () => void): void {
    talk.note(noteToModel);
    beginReply({ confirmed: true, ...(onDone === undefined ? {} : { onDone }) });
  }

  /** Takes the reply back, and everything on the line with it, but a filler where an answer follows. */
  function stopReply(anAnswerFollows = false): void {
    filler.stop();
    const keepsFiller = anAnswerFollows && speech.isOnlyFilling();
    if (!keepsFiller && speech.isSpeaking()) sink.clear();
    toolsCalled = reply?.toolsCalled() ?? toolsCalled;
    reply?.cancel();
    speech.cut({ fillerToo: !keepsFiller });
    reply = undefined;
    unconfirmedText = undefined;
  }

  function dropUnconfirmed(): void {
    if (reply === undefined || reply.isConfirmed()) return;
    reply.cancel();
    reply = undefined;
    unconfirmedText = undefined;
  }

  function bargeIn(): void {
    if (leaving || stopped || !speech.isSpeaking()) return;
    if (speech.isOnlyFilling() && reply?.isRunning() === true) {
      // What is being made is not said yet: a word answers otherwise, a noise must not take the answer away.
      sink.clear();
      return speech.endFilling();
    }
    owed = 'the rest';
    waiting = undefined;
    stopReply();
    silence.agentDone();
  }

  function answerIsHere(): boolean {
    return reply?.isRunning() === true && reply.hasAudio();
  }

  function conversed(): boolean {
    return speech.heardAnything() || call.resume !== undefined;
  }

  function fail(error: ProviderError): void {
    if (leaving || stopped) return;
    deps.log(call.callId, 'a provider is gone', error);
    if (conversed()) return lastWords.apologise(error.part, () => sink.fail(error));
    leaving = true;
    stopReply();
    sink.fail(error);
  }

  function callTool(request: ToolRequest): Promise<ToolAnswer> {
    if (request.name === ANSWERING_MACHINE) {
      setImmediate(() => leaving || stopped || machine.meet());
      return Promise.resolve({ ok: true, result: 'noted' });
    }
    const given = argumentsOf(request);
    if (given === undefined) return Promise.resolve({ ok: false, error: 'the arguments were no JSON object' });
    return sink.tool({ name: request.name, arguments: given }).then((result) => {
      if (isLastTool(request.name) && result.ok) leaving = true;
      return result;
    });
  }

  function leaveMessage(): void {
    const end = () => {
      if (!stopped) sink.end('voicemail');
    };
    const { message } = call.voicemail;
    if (message === undefined)
      return answer('The answering machine is recording now. Say in two sentences who calls and why.', end);
    const utterance = speech.say(filled(message, call.inputParameters), { onFailed: end });
    return void utterance.queued.then(end);
  }

  function whoAnswered(): AnsweredBy {
    if (machine.wasMet()) return 'voicemail';
    return carrierHeard === 'human' || turns.some(({ speaker }) => speaker === 'caller') ? 'human' : 'unknown';
  }

  function tick(): void {
    speech.endOverdue();
    machine.tick();
    if (wrapUpDue && !isBusy()) beginReply({ confirmed: true });
  }

  const ticking = setInterval(tick, TICK_MS);
  silence.start();
  answer(goesOn(call) ? 'The line is back. Go on.' : 'The line is open. Begin to speak.');

  return {
    hear(frame: Uint8Array, timestampMs: number): void {
      if (stopped) return;
      frames += 1;
      machine.hear(frame, timestampMs);
      hearing.push(frame, timestampMs);
    },
    key(digit: string): void {
      if (stopped) return;
      silence.callerHeard();
      keys.press(digit);
      bargeIn();
    },
    played: (itemId: string, playedMs: number, complete: boolean) => speech.onPlayed(itemId, playedMs, complete),
    endingSoon(secondsLeft: number): void {
      // What was begun early does not know of it, and would stand for the words that tell it.
      dropUnconfirmed();
      talk.note(`The call will be ended in about ${secondsLeft} seconds. Say so in a few words and come to an end.`);
      wrapUpDue = true;
    },
    answeredBy(told: AnsweredBy): void {
      carrierHeard = told;
      if (told === 'voicemail' && !leaving && !stopped) machine.meet();
    },
    async stop(): Promise<EngineResult> {
      stopped = true;
      clearInterval(ticking);
      filler.stop();
      silence.stop();
      keys.stop();
      const unfinished = hearing.unfinished();
      if (unfinished !== undefined) note({ speaker: 'caller', ...unfinished });
      hearing.close();
      reply?.cancel();
      speech.cut({ fillerToo: true });
      usage.add('recogniser_seconds', Math.round(frames * FRAME_SECONDS));
      const all = [...(call.resume?.turns ?? []), ...turns];
      const conclusion = await deps.conclude(call, all, usage);
      return { ...conclusion, usage: usage.total(), answeredBy: whoAnswered() };
    },
  };
}
