import { speechPieces } from '../../audio/speech-pieces.js';
import { filled } from '../../session/prompt.js';
import type { FixedLine, SessionCommand } from '../../session/reducer/commands.js';
import type { SessionHappening } from '../../session/reducer/events.js';
import { SILENT_GOODBYE, SORRY } from '../local-lines.js';
import type { EngineCall, EngineSink, TranscriptTurn } from '../port.js';
import type { CallerEar, HeardTurn } from './caller-ear.js';
import { ARE_YOU_THERE } from './lines.js';
import type { LineToSay, Mouth } from './mouth.js';
import { asking } from './script.js';
import type { ScriptedModel } from './scripted-model.js';

type Performed = Exclude<SessionCommand, { type: 'start_timer' | 'stop_timer' }>;
type CommandOf<T extends Performed['type']> = Extract<Performed, { type: T }>;
type Performers = { [T in Performed['type']]: (command: CommandOf<T>) => void };

interface PerformerDeps {
  call: EngineCall;
  introduction: readonly string[];
  sink: EngineSink;
  mouth: Mouth;
  model: ScriptedModel;
  caller: CallerEar;
  happened: (what: SessionHappening) => void;
  note(turn: TranscriptTurn): void;
  /** The caller's last turn. */
  lastTurn(): HeardTurn | undefined;
  /** Synthesizes in advance a sentence that will probably be said next. */
  makeReady: (text: string) => void;
}

const nothing = () => undefined;

/** Executes session commands: speaks what the script says and acts on the line. */
export function createScriptPerformer(p: PerformerDeps): (command: Performed) => void {
  const { sink, mouth } = p;

  const performers: Performers = {
    say: (command) => sayLine(p, command),
    send_audio: ({ itemId }) => mouth.send(itemId),
    end_item: ({ itemId }) => mouth.end(itemId),
    clear: () => sink.clear(),
    close_item: (command) => mouth.close(command),
    request_reply: (command) => reply(p, command),
    cancel_reply: ({ replyId }) => mouth.cancel(replyId),
    store_turn: ({ speaker, text, startMs, endMs }) => p.note({ speaker, text, startMs, endMs }),
    store_answered_by: ({ who }) => sink.answeredBy(who),
    store_latency: (command) => sink.latency(latencyOf(command, p.lastTurn())),
    end: ({ reason }) => sink.end(reason),
    fail: ({ message }) => sink.fail(new Error(message)),
    // Not needed here: the script ignores notes, receives only final transcripts and calls no tools.
    tell_model: nothing,
    confirm_reply: nothing,
    let_provider_answer: nothing,
    run_tool: nothing,
    answer_tool: nothing,
    hurry_recogniser: nothing,
    forget_turn: nothing,
    reopen_recogniser: nothing,
  };

  return (command) => (performers[command.type] as (command: Performed) => void)(command);
}

function reply(
  { model, mouth, sink, caller, happened, makeReady }: PerformerDeps,
  command: CommandOf<'request_reply'>,
) {
  const { replyId, task } = command;
  const itemId = `${replyId}.line`;
  const { over, ...words } = model.reply(task);
  sink.values(model.values());
  if (over !== undefined) happened({ type: 'reply_is_last', replyId, itemId, goodbyeBy: over });
  void mouth.say({ itemId, ...words, reply: { id: replyId, task } });
  caller.expectDigits(model.asksForDigits());
  model.upcoming().forEach(makeReady);
}

function sayLine(p: PerformerDeps, { itemId, line }: CommandOf<'say'>): void {
  const words = wordsOf(line, p);
  if (words !== undefined) return void p.mouth.say({ itemId, ...words });
  return p.happened({ type: 'item_failed', itemId, part: 'voice', message: 'the voice itself is what is waited for' });
}

type Words = Pick<LineToSay, 'parts' | 'questionAt'>;

function wordsOf(line: FixedLine, { call, introduction, model }: PerformerDeps): Words | undefined {
  const { message } = call.voicemail;
  const lines: Record<FixedLine, () => Words | undefined> = {
    // No filler: a reply only ever waits for TTS, which would have to speak the filler, too.
    one_moment: () => undefined,
    are_you_there: () => asking(model.again(), ARE_YOU_THERE),
    silent_goodbye: () => ({ parts: [SILENT_GOODBYE] }),
    sorry: () => ({ parts: [SORRY] }),
    voicemail_message: () => ({
      parts: message === undefined ? introduction : speechPieces(filled(message, call.inputParameters)),
    }),
  };
  return lines[line]();
}

/** Breaks down the time between the caller's last voice or digit and the first audio of the reply. */
function latencyOf({ sinceMs, knownMs, times, atMs }: CommandOf<'store_latency'>, turn: HeardTurn | undefined) {
  const voice = Math.max(0, (times.firstAudioMs ?? atMs) - times.startedMs);
  const isTurn = turn !== undefined && Math.round(turn.endMs) === sinceMs;
  const heard = isTurn
    ? { pause: turn.endedAtMs - turn.lastVoiceAtMs, recogniser: Math.max(0, knownMs - turn.endedAtMs) }
    : {};
  const totalMs = atMs - (isTurn ? turn.lastVoiceAtMs : sinceMs);
  const known: Record<string, number> = { ...heard, voice };
  const own = totalMs - Object.values(known).reduce((sum, ms) => sum + ms, 0);
  return { atMs, totalMs, parts: { ...known, own } };
}
