import type { FixedLine, SessionCommand } from '../../session/reducer/commands.js';
import { filled } from '../../session/prompt.js';
import type { EngineCall, EngineSink, TranscriptTurn } from '../port.js';
import type { CallerSide } from './caller-side.js';
import { phrasesOf, type Phrases } from './phrases.js';
import { ProviderError } from './ports.js';
import type { PreparedLine, PreparedLines } from './prepared-lines.js';
import type { Replies } from './replies.js';
import type { Speech } from './speech.js';
import type { Talk } from './talk.js';
import { latencyOf } from './waiting.js';

type Performed = Exclude<SessionCommand, { type: 'start_timer' | 'stop_timer' }>;
type Performers = { [T in Performed['type']]: (command: Extract<Performed, { type: T }>) => void };

const PHRASES: Record<Exclude<FixedLine, 'voicemail_message'>, keyof Phrases> = {
  one_moment: 'oneMoment',
  are_you_there: 'areYouThere',
  silent_goodbye: 'silentGoodbye',
  sorry: 'sorry',
};
const PREPARED: Partial<Record<FixedLine, PreparedLine>> = {
  one_moment: 'oneMoment',
  silent_goodbye: 'silentGoodbye',
  sorry: 'sorry',
};

/** Executes session commands: sends requests to the providers and acts on the line. */
export function createPerformer(p: {
  call: EngineCall;
  sink: EngineSink;
  talk: Talk;
  speech: Speech;
  caller: CallerSide;
  replies: Replies;
  prepared: PreparedLines;
  note(turn: TranscriptTurn): void;
  itemFailed(itemId: string, error: ProviderError): void;
}): (command: Performed) => void {
  const { call, sink, talk, speech, caller, replies } = p;
  const phrases = phrasesOf(call.language);

  const textOf = (line: FixedLine) => (line === 'voicemail_message' ? voicemailMessage(call) : phrases[PHRASES[line]]);

  async function sayPrepared(itemId: string, line: FixedLine): Promise<void> {
    const prepared = PREPARED[line];
    const audio = prepared && (await p.prepared.audioOf(prepared, call.voice, call.language));
    if (audio === undefined) p.itemFailed(itemId, new ProviderError('voice', 'has no such line'));
    else speech.sayPrepared(itemId, textOf(line), audio);
  }

  const performers: Performers = {
    say({ itemId, line, by }) {
      if (by === 'voice') speech.say(itemId, textOf(line));
      else void sayPrepared(itemId, line);
    },
    send_audio: ({ itemId }) => speech.send(itemId),
    end_item: ({ itemId }) => speech.end(itemId),
    clear: () => sink.clear(),
    close_item(command) {
      // Add it whether or not it was heard: the model must know that it has asked.
      if (command.kind === 'reprompt') talk.agent(phrases.areYouThere);
      speech.close(command);
    },
    tell_model({ from, text }) {
      if (from === 'caller') talk.caller(text);
      else talk.note(text);
    },
    request_reply: (command) => replies.request(command),
    confirm_reply: () => replies.confirm(),
    cancel_reply: () => replies.cancel(),
    run_tool: (command) => void replies.runTool(command),
    answer_tool: ({ toolCallId, answer }) => replies.answer(toolCallId, answer),
    let_provider_answer: () => undefined,
    hurry_recogniser: () => caller.hurry(),
    forget_turn: () => caller.forget(),
    reopen_recogniser: () => caller.reopen(),
    store_turn: ({ speaker, text, startMs, endMs }) => p.note({ speaker, text, startMs, endMs }),
    store_answered_by: ({ who }) => sink.answeredBy(who),
    store_latency: ({ sinceMs, knownMs, times, atMs }) => sink.latency(latencyOf({ sinceMs, knownMs }, times, atMs)),
    end: ({ reason }) => sink.end(reason),
    fail: ({ part, message }) => sink.fail(errorOf(part, message)),
  };

  return (command) => (performers[command.type] as (command: Performed) => void)(command);
}

function voicemailMessage({ voicemail, inputParameters }: EngineCall): string {
  return filled(voicemail.message ?? '', inputParameters);
}

/** Removes the part's prefix from the message, because ProviderError adds it again. */
function errorOf(part: ProviderError['part'], message: string): ProviderError {
  return new ProviderError(part, message.startsWith(`${part}: `) ? message.slice(part.length + 2) : message);
}
