import type { FixedPhrase, SessionCommand } from '../../session/reducer/commands.js';
import { fillParameters } from '../../session/prompt.js';
import type { EngineCall, EngineSink, TranscriptTurn } from '../port.js';
import type { CallerSide } from './caller-side.js';
import { findPhrases, type Phrases } from './phrases.js';
import { ProviderError, type TtsOptions } from './ports.js';
import type { PreparedPhrase, PreparedPhrases } from './prepared-phrases.js';
import type { Replies } from './replies.js';
import type { Speech } from './speech.js';
import type { ChatHistory } from './chat-history.js';
import { measureLatency } from './latency.js';

type Performed = Exclude<SessionCommand, { type: 'start_timer' | 'stop_timer' }>;
type Performers = { [T in Performed['type']]: (command: Extract<Performed, { type: T }>) => void };

const PHRASES: Record<Exclude<FixedPhrase, 'voicemail_message'>, keyof Phrases> = {
  filler: 'filler',
  reprompt: 'reprompt',
  silence_goodbye: 'silenceGoodbye',
  apology: 'apology',
};
const PREPARED: Partial<Record<FixedPhrase, PreparedPhrase>> = {
  filler: 'filler',
  silence_goodbye: 'silenceGoodbye',
  apology: 'apology',
};

/** Executes session commands: sends requests to the providers, controls playback and ends the call. */
export function createPerformer(p: {
  call: EngineCall;
  sink: EngineSink;
  history: ChatHistory;
  speech: Speech;
  caller: CallerSide;
  replies: Replies;
  prepared: PreparedPhrases;
  ttsOptions: TtsOptions;
  storeTurn(turn: TranscriptTurn): void;
  itemFailed(itemId: string, error: ProviderError): void;
}): (command: Performed) => void {
  const { call, sink, history, speech, caller, replies } = p;
  const phrases = findPhrases(call.language);

  const textOf = (phrase: FixedPhrase) =>
    phrase === 'voicemail_message' ? voicemailMessage(call) : phrases[PHRASES[phrase]];

  async function sayPrepared(itemId: string, phrase: FixedPhrase): Promise<void> {
    const prepared = PREPARED[phrase];
    const audio = prepared && (await p.prepared.getAudio(prepared, p.ttsOptions));
    if (audio === undefined) p.itemFailed(itemId, new ProviderError('voice', `has no audio for the phrase ${phrase}`));
    else speech.sayPrepared(itemId, textOf(phrase), audio);
  }

  const performers: Performers = {
    say({ itemId, phrase, by }) {
      if (by === 'voice') speech.say(itemId, textOf(phrase));
      else void sayPrepared(itemId, phrase);
    },
    send_audio: ({ itemId }) => speech.send(itemId),
    end_item: ({ itemId }) => speech.end(itemId),
    clear: () => sink.clear(),
    close_item(command) {
      // Add the reprompt whether or not the caller heard it, so that the model knows that it has asked.
      if (command.kind === 'reprompt') history.addAgent(phrases.reprompt);
      speech.close(command);
    },
    add_to_history({ from, text }) {
      if (from === 'caller') history.addCaller(text);
      else history.addNote(text);
    },
    request_reply: (command) => replies.request(command),
    confirm_reply: () => replies.confirm(),
    cancel_reply: () => replies.cancel(),
    run_tool: (command) => void replies.runTool(command),
    answer_tool: ({ toolCallId, answer }) => replies.answer(toolCallId, answer),
    set_auto_reply: () => undefined,
    finalize_transcript: () => caller.finalize(),
    discard_turn: () => caller.discardTurn(),
    reconnect_stt: () => caller.reopen(),
    store_turn: ({ speaker, text, startMs, endMs }) => p.storeTurn({ speaker, text, startMs, endMs }),
    store_answered_by: ({ who }) => sink.storeAnsweredBy(who),
    store_latency: ({ sinceMs, knownMs, times, atMs }) =>
      sink.storeLatency(measureLatency({ sinceMs, knownMs }, times, atMs)),
    end: ({ reason }) => sink.end(reason),
    fail: ({ message }) => sink.fail(new Error(message)),
  };

  return (command) => (performers[command.type] as (command: Performed) => void)(command);
}

function voicemailMessage({ voicemail, inputParameters }: EngineCall): string {
  return fillParameters(voicemail.message ?? '', inputParameters);
}
