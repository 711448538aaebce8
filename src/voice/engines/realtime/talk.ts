import { createUsageMeter } from '../engine-usage.js';
import { collectKeys, turnOfKeys } from '../../session/key-collector.js';
import { ONE_MOMENT } from '../local-lines.js';
import { concludeCall } from '../../models/conclusion.js';
import type { AnsweredBy, EngineCall, EngineResult, EngineSink, TranscriptTurn } from '../port.js';
import { goesOn } from '../../session/prompt.js';
import { spacedDigits } from '../../session/reducer/dtmf.js';
import { SESSION_POLICY } from '../../session/reducer/policy.js';
import { INTRODUCE_AGAIN } from '../../session/reducer/resume.js';
import { createReplyBudget } from '../../session/reply-budget.js';
import { createToolRounds } from '../../session/tool-rounds.js';
import { watchSilence } from '../../session/silence-watch.js';
import { createAnswerMode } from './answer-mode.js';
import { createAgentVoice } from './agent-voice.js';
import { createProviderTurns } from './caller-turns.js';
import { createFarewell } from './farewell.js';
import { textItem } from './protocol.js';
import type { ClientEvent, RealtimeResponse, ServerEvent } from './protocol.js';
import { createProviderLink } from './provider-link.js';
import { createResponses } from './responses.js';
import type { Purpose } from './responses.js';
import { PREFIX_MS } from './session-settings.js';
import type { SpokenItem } from './spoken-items.js';
import { ASK_INTO_SILENCE, type TalkDeps } from './talk-settings.js';
import { createToolCalls } from './tool-calls.js';
import { addResponse, addTranscription } from './usage.js';
import { createVoicemail } from './voicemail.js';

export type RealtimeTalk = ReturnType<typeof beginTalk>;

const TICK_MS = 200;
const BYTES_PER_FRAME_MS = 20;
/** Of a caller who speaks while there is no session, ms. */
const KEPT_FRAMES = 5_000 / BYTES_PER_FRAME_MS;
/** A response that the provider gave up is asked for again after this time, ms. */
const FAILED_RETRY_MS = 500;

/** Conducts one call by the provider's realtime session, from the open line to its end. */
export function beginTalk(deps: TalkDeps, call: EngineCall, sink: EngineSink) {
  const { settings, timings, logger } = deps;
  const { callId } = call;
  const origin = performance.now();
  const now = () => performance.now() - origin;
  const usage = createUsageMeter(deps.prices);
  const turns: TranscriptTurn[] = [];
  const kept: { frame: Uint8Array; timestampMs: number }[] = [];
  let stopped = false;
  let agentWasHeard = false;
  /** The provider's item of the caller's speech that goes on. */
  let speaking: string | undefined;
  let lastSpeech: { endMs: number; stoppedMs: number } | undefined;
  let greetings = 0;
  let failures = 0;
  let saidOneMoment = false;
  let saidNothing = false;

  const callerTurns = createProviderTurns(tell);
  const budget = createReplyBudget(now);
  const send = (event: ClientEvent) => link.send(event);
  const mode = createAnswerMode({ settings, budget, send });
  const responses = createResponses({ now, budget, send, isReady: () => link.isReady() });
  const voice = createAgentVoice({
    sink,
    voice: call.voice,
    lines: deps.lines,
    responses,
    now,
    send,
    onTurn: tell,
    onOver: onItemOver,
    onFirstAudio: noteLatency,
  });
  const link = createProviderLink({
    settings,
    call,
    timings,
    handlers: {
      onReady,
      onEvent,
      onOutage(why) {
        logger.warn({ callId, why }, 'the provider went away; dialing it again');
        forgetProvider();
        farewell.providerLost();
      },
      onGone(why) {
        logger.error({ callId, why }, 'the provider is gone');
        forgetProvider();
        farewell.apologise(new Error(why), agentWasHeard || goesOn(call));
      },
      soFar: () => [...turnsBefore(), ...inOrder([...turns, ...voice.turnsSoFar()])],
    },
  });
  const farewell = createFarewell({ sink, link, responses, mode, voice, logger, callId, now });
  const voicemail = createVoicemail({
    call,
    now,
    onMachine(action) {
      voice.cut();
      farewell.answerNoMore();
      if (action === 'hang_up') farewell.hangUp('voicemail');
    },
    onSpeak: (task) => farewell.sayLast(task, 'voicemail'),
  });
  const tools = createToolCalls({
    sink,
    link,
    responses,
    farewell,
    rounds: createToolRounds(now),
    isAgentHeard: voice.isSpeaking,
    callerSpeaks: () => speaking !== undefined,
    isOver: () => stopped,
    onMachine: voicemail.heardMachine,
  });
  const silence = watchSilence({
    patience: deps.patience,
    isBusy: () =>
      !link.isReady() ||
      speaking !== undefined ||
      voice.isSpeaking() ||
      responses.isBusy() ||
      tools.isBusy() ||
      farewell.isLeaving() ||
      voicemail.isMachine(),
    onPrompt() {
      link.send(textItem('system', ASK_INTO_SILENCE));
      responses.want({ kind: 'prompt' });
    },
    onEnd: () => farewell.endSilence(),
  });
  const keys = collectKeys(onKeys);

  function tell(turn: TranscriptTurn): void {
    turns.push(turn);
    sink.transcript(turn);
  }

  function turnsBefore(): readonly TranscriptTurn[] {
    return call.resume?.turns ?? [];
  }

  function forgetProvider(): void {
    responses.reset();
    voice.orphan();
    speaking = undefined;
  }

  function onReady(how: 'first' | 'again' | 'renewed'): void {
    callerTurns.begin();
    mode.begin();
    for (const { frame, timestampMs } of kept.splice(0)) give(frame, timestampMs);
    if (farewell.isLeaving()) return;
    if (how === 'first') {
      silence.start();
      responses.want({ kind: 'greeting' });
    } else if (!responses.next() && how === 'again') responses.want();
  }

  function give(frame: Uint8Array, timestampMs: number): void {
    callerTurns.gave(timestampMs);
    const audio = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('base64');
    link.send({ type: 'input_audio_buffer.append', audio });
  }

  function onEvent(event: ServerEvent): void {
    if (stopped) return onLastWords(event);
    switch (event.type) {
      case 'input_audio_buffer.speech_started':
        return onSpeechStarted(event.item_id, event.audio_start_ms);
      case 'input_audio_buffer.speech_stopped':
        return onSpeechStopped(event.item_id, event.audio_end_ms);
      case 'response.created':
        return responses.created(event.response, farewell.isLeaving() || voicemail.isMachine());
      case 'response.output_audio.delta':
      case 'response.output_audio.done':
      case 'response.output_audio_transcript.delta':
      case 'response.output_audio_transcript.done':
        return voice.take(event);
      case 'response.done':
        return onResponseDone(event.response);
      case 'error':
        if (event.error.code === 'conversation_already_has_active_response') responses.refused();
        logger.warn({ callId, type: event.error.type, code: event.error.code }, 'the provider reports an error');
        return;
      default:
        onLastWords(event);
    }
  }

  /** The words of a turn come at any time, even after the end of the call. */
  function onLastWords(event: ServerEvent): void {
    if (event.type === 'conversation.item.input_audio_transcription.completed') {
      if (event.usage) addTranscription(usage, event.usage);
      callerTurns.heard(event.item_id, event.transcript);
    } else if (event.type === 'conversation.item.input_audio_transcription.failed') {
      callerTurns.notHeard(event.item_id);
    }
  }

  function onSpeechStarted(itemId: string, audioStartMs: number): void {
    speaking = itemId;
    callerTurns.started(itemId, audioStartMs + PREFIX_MS);
    silence.callerHeard();
    if (!farewell.isLeaving() && !voicemail.isMachine()) voice.cut();
  }

  function onSpeechStopped(itemId: string, audioEndMs: number): void {
    const { turnDetection } = settings;
    const silenceMs = turnDetection.type === 'server_vad' ? turnDetection.silenceMs : 0;
    const endMs = callerTurns.stopped(itemId, audioEndMs - silenceMs);
    speaking = undefined;
    silence.callerHeard();
    if (farewell.isLeaving() || voicemail.isMachine()) return;
    lastSpeech = { endMs, stoppedMs: now() };
    if (mode.isByItself()) responses.expect();
    else responses.want();
  }

  function noteLatency(): void {
    saidOneMoment = false;
    if (lastSpeech === undefined) return;
    const { endMs, stoppedMs } = lastSpeech;
    lastSpeech = undefined;
    const atMs = Math.round(now());
    const recogniser = Math.max(0, Math.round(stoppedMs - endMs));
    const model = Math.max(0, Math.round(atMs - stoppedMs));
    sink.latency({ atMs, totalMs: recogniser + model, parts: { recogniser, model } });
  }

  function onResponseDone(response: RealtimeResponse): void {
    if (response.usage) addResponse(usage, response.usage);
    voice.responseDone();
    const done = responses.done(response);
    if (response.status === 'failed') {
      if (done === undefined) responses.next();
      else onFailed(done.purpose);
      return;
    }
    failures = 0;
    link.works();
    if (done !== undefined) {
      done.purpose.onDone?.();
      tools.call(response, done);
    }
    responses.next();
    if (done !== undefined) noteEmpty(response, done);
  }

  /** A model that said nothing and did nothing is asked once more; after that it has nothing to say. */
  function noteEmpty(response: RealtimeResponse, { purpose, hasAudio }: { purpose: Purpose; hasAudio: boolean }): void {
    const isEmpty = !hasAudio && response.output.every(({ type }) => type !== 'function_call');
    saidNothing = isEmpty && !saidNothing && response.status !== 'cancelled';
    if (saidNothing && purpose.onDone === undefined && !isTakenCareOf()) responses.want(purpose);
  }

  /** Something else is being said or made, or nothing is to be said any more. */
  function isTakenCareOf(): boolean {
    return speaking !== undefined || responses.isBusy() || farewell.isLeaving() || voicemail.isMachine();
  }

  /** Asked for once more; a provider that fails again is away. */
  function onFailed(purpose: Purpose): void {
    failures += 1;
    if (failures > 1) return link.giveUpOn('the provider makes no response');
    // Who speaks meanwhile is answered by itself.
    const isNeeded = () => speaking === undefined || purpose.onDone !== undefined;
    setTimeoutUnlessOver(() => isNeeded() && responses.want(purpose), FAILED_RETRY_MS);
  }

  function onItemOver(item: SpokenItem, complete: boolean): void {
    if (stopped) return;
    farewell.heard(item.id);
    if (item.kind !== 'prompt') silence.agentDone();
    if (item.kind !== 'greeting') return;
    greetings += 1;
    if (
      complete ||
      item.playedMs >= timings.greetingHeardMs ||
      greetings >= SESSION_POLICY.introduction.attempts ||
      goesOn(call)
    )
      return;
    link.send(textItem('system', INTRODUCE_AGAIN));
  }

  function onKeys(pressed: string, sinceMs: number): void {
    tell(turnOfKeys(pressed, sinceMs, now()));
    if (stopped || farewell.isLeaving() || voicemail.isMachine()) return;
    link.send(textItem('user', `[The far end pressed these keys of the telephone: ${spacedDigits(pressed)}]`));
    // Who speaks is answered by itself after it.
    if (speaking === undefined) responses.want();
  }

  let later: NodeJS.Timeout[] = [];
  function setTimeoutUnlessOver(act: () => void, ms: number): void {
    later.push(setTimeout(() => stopped || act(), ms));
  }

  function tick(): void {
    voice.expire();
    farewell.tick();
    mode.tick();
    if (farewell.isLeaving()) return;
    if (speaking === undefined) responses.next();
    voicemail.tick(speaking !== undefined);
    if (responses.waitedMs() > timings.lostAfterMs) link.giveUpOn('the provider keeps us waiting');
    else if (isCallerWaiting()) sayOneMoment();
    else if (link.ageMs() > timings.renewAfterMs && isQuiet()) link.renew();
  }

  function isQuiet(): boolean {
    return speaking === undefined && !voice.isSpeaking() && !responses.isBusy() && !tools.isBusy();
  }

  function isCallerWaiting(): boolean {
    if (!agentWasHeard || speaking !== undefined || voice.isSpeaking() || saidOneMoment) return false;
    const isSlow = responses.waitedMs() > timings.fillerAfterMs && !responses.hasAudio();
    return isSlow || tools.waitedMs() > timings.fillerAfterMs || !link.isReady();
  }

  /** Not before anything was heard of the agent: a call that cannot be conducted shall cost nothing. */
  function sayOneMoment(): void {
    saidOneMoment = true;
    voice.sayLocally(ONE_MOMENT).catch((error: unknown) => {
      logger.warn({ callId, err: error }, 'there is no offline speech');
    });
  }

  async function lastWords(): Promise<void> {
    if (speaking !== undefined) link.send({ type: 'input_audio_buffer.commit' });
    await callerTurns.allHeard(timings.lastWordsMs, link.isReady);
  }

  const ticking = setInterval(tick, TICK_MS);
  link.dial();
  deps.lines.prepare(call.voice);

  return {
    hear(frame: Uint8Array, timestampMs: number): void {
      if (stopped) return;
      voicemail.hear(frame, timestampMs);
      if (link.isReady()) return give(frame, timestampMs);
      kept.push({ frame, timestampMs });
      if (kept.length > KEPT_FRAMES) kept.shift();
    },

    onDtmf(key: string): void {
      if (stopped) return;
      silence.callerHeard();
      if (!farewell.isLeaving() && !voicemail.isMachine()) voice.cut();
      keys.press(key);
    },

    onPlayed(itemId: string, playedMs: number, complete: boolean): void {
      if (playedMs > 0) agentWasHeard = true;
      voice.played(itemId, playedMs, complete);
    },

    onEndingSoon(secondsLeft: number): void {
      if (stopped || farewell.isLeaving() || voicemail.isMachine()) return;
      link.send(
        textItem('system', `The call will be ended in ${secondsLeft} seconds. Say so, and come to an end now.`),
      );
      if (speaking === undefined) responses.want();
    },

    onAnsweredBy: (who: AnsweredBy) => stopped || voicemail.onAnsweredBy(who),

    async stop(): Promise<EngineResult> {
      const began = performance.now();
      stopped = true;
      clearInterval(ticking);
      for (const timer of later) clearTimeout(timer);
      later = [];
      silence.stop();
      keys.stop();
      farewell.stop();
      voice.finish();
      await lastWords();
      link.close();
      callerTurns.finish();
      const withinMs = Math.max(500, timings.stopWithinMs - (performance.now() - began));
      const { baseUrl, apiKey, conclusionModel: model } = settings;
      const all = [...turnsBefore(), ...inOrder(turns)];
      const chat = { baseUrl, apiKey, model };
      const conclusion = await concludeCall({ chat, call, turns: all, withinMs, usage, logger });
      usage.add('call_seconds', Math.round(now() / 1_000));
      const conversed = callerTurns.told() > 0 && turns.filter(({ speaker }) => speaker === 'agent').length > 1;
      return {
        ...conclusion,
        ...(call.direction === 'outbound' ? { answeredBy: voicemail.answeredBy(conversed) } : {}),
        usage: usage.total(),
      };
    },
  };
}

function inOrder(turns: readonly TranscriptTurn[]): TranscriptTurn[] {
  return turns.toSorted((a, b) => a.startMs - b.startMs);
}
