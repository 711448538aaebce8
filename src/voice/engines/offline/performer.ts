import { splitSpeech } from '../../audio/speech-pieces.js';
import { fillParameters } from '../../session/prompt.js';
import type { FixedPhrase, SessionCommand } from '../../session/reducer/commands.js';
import type { SessionEventBody } from '../../session/reducer/events.js';
import { SILENT_GOODBYE, SORRY } from '../offline-phrases.js';
import type { EngineCall, EngineSink, TranscriptTurn } from '../port.js';
import type { CallerListener, RecognizedTurn } from './caller-listener.js';
import { ARE_YOU_THERE } from './phrases.js';
import type { UtteranceRequest, UtterancePlayer } from './utterance-player.js';
import { askQuestion } from './script.js';
import type { ScriptedModel } from './scripted-model.js';

type Performed = Exclude<SessionCommand, { type: 'start_timer' | 'stop_timer' }>;
type CommandOf<T extends Performed['type']> = Extract<Performed, { type: T }>;
type Performers = { [T in Performed['type']]: (command: CommandOf<T>) => void };

interface PerformerDeps {
  call: EngineCall;
  introduction: readonly string[];
  sink: EngineSink;
  player: UtterancePlayer;
  model: ScriptedModel;
  caller: CallerListener;
  dispatch: (what: SessionEventBody) => void;
  storeTurn(turn: TranscriptTurn): void;
  /** The caller's last turn. */
  lastTurn(): RecognizedTurn | undefined;
  /** Synthesizes in advance a sentence that will probably be said next. */
  synthesizeAhead: (text: string) => void;
}

const nothing = () => undefined;

/** Executes session commands: speaks the script's replies, controls playback and ends the call. */
export function createScriptPerformer(p: PerformerDeps): (command: Performed) => void {
  const { sink, player } = p;

  const performers: Performers = {
    say: (command) => sayPhrase(p, command),
    send_audio: ({ itemId }) => player.send(itemId),
    end_item: ({ itemId }) => player.end(itemId),
    clear: () => sink.clear(),
    close_item: (command) => player.close(command),
    request_reply: (command) => reply(p, command),
    cancel_reply: ({ replyId }) => player.cancel(replyId),
    store_turn: ({ speaker, text, startMs, endMs }) => p.storeTurn({ speaker, text, startMs, endMs }),
    store_answered_by: ({ who }) => sink.storeAnsweredBy(who),
    store_latency: (command) => sink.storeLatency(latencyOf(command, p.lastTurn())),
    end: ({ reason }) => sink.end(reason),
    fail: ({ message }) => sink.fail(new Error(message)),
    // The script needs none of the following commands: it has no chat history, receives only final transcripts and
    // calls no tools.
    add_to_history: nothing,
    confirm_reply: nothing,
    set_auto_reply: nothing,
    run_tool: nothing,
    answer_tool: nothing,
    finalize_transcript: nothing,
    discard_turn: nothing,
    reconnect_stt: nothing,
  };

  return (command) => (performers[command.type] as (command: Performed) => void)(command);
}

function reply(
  { model, player, sink, caller, dispatch, synthesizeAhead }: PerformerDeps,
  command: CommandOf<'request_reply'>,
) {
  const { replyId, task } = command;
  const itemId = `${replyId}.line`;
  const { over, ...words } = model.reply(task);
  sink.storeValues(model.values());
  if (over !== undefined) dispatch({ type: 'reply_is_last', replyId, itemId, goodbyeBy: over });
  void player.say({ itemId, ...words, reply: { id: replyId, task } });
  caller.expectDigits(model.asksForDigits());
  model.upcoming().forEach(synthesizeAhead);
}

function sayPhrase(p: PerformerDeps, { itemId, phrase }: CommandOf<'say'>): void {
  const words = wordsOf(phrase, p);
  if (words !== undefined) return void p.player.say({ itemId, ...words });
  return p.dispatch({
    type: 'item_failed',
    itemId,
    part: 'voice',
    message: 'the offline engine cannot say a filler phrase',
  });
}

type Words = Pick<UtteranceRequest, 'parts' | 'questionAt'>;

function wordsOf(phrase: FixedPhrase, { call, introduction, model }: PerformerDeps): Words | undefined {
  const { message } = call.voicemail;
  const wordsByPhrase: Record<FixedPhrase, () => Words | undefined> = {
    // No filler: a reply only ever waits for TTS, which would have to speak the filler, too.
    filler: () => undefined,
    reprompt: () => askQuestion(model.again(), ARE_YOU_THERE),
    silence_goodbye: () => ({ parts: [SILENT_GOODBYE] }),
    apology: () => ({ parts: [SORRY] }),
    // Never requested, because this engine has no first message of the agent.
    first_message: () => ({ parts: introduction }),
    voicemail_message: () => ({
      parts: message === undefined ? introduction : splitSpeech(fillParameters(message, call.inputParameters)),
    }),
  };
  return wordsByPhrase[phrase]();
}

/** Breaks down the time between the caller's last voice or digit and the first audio of the reply. */
function latencyOf({ sinceMs, knownMs, times, atMs }: CommandOf<'store_latency'>, turn: RecognizedTurn | undefined) {
  const voice = Math.max(0, (times.firstAudioMs ?? atMs) - times.startedMs);
  const isTurn = turn !== undefined && Math.round(turn.endMs) === sinceMs;
  const heard = isTurn
    ? { pause: turn.endedAtMs - turn.lastVoiceAtMs, recogniser: Math.max(0, knownMs - turn.endedAtMs) }
    : {};
  const totalMs = atMs - (isTurn ? turn.lastVoiceAtMs : sinceMs);
  const known: Record<string, number> = { ...heard, voice };
  const own = totalMs - Object.values(known).reduce((sum, ms) => sum + ms, 0);
  const spoken = isTurn ? { pause: turn.lastVoiceAtMs, recogniser: turn.endedAtMs } : {};
  return { atMs, totalMs, parts: { ...known, own }, begunMs: { ...spoken, voice: times.startedMs } };
}
