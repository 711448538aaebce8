import type { FixedPhrase, SessionCommand } from '../../session/reducer/commands.js';
import { firstMessageOf } from '../../session/settings/first-message.js';
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

const PHRASES: Record<Exclude<FixedPhrase, 'voicemail_message' | 'first_message'>, keyof Phrases> = {
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

interface PerformerDeps {
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
}

/** Executes session commands: sends requests to the providers, controls playback and ends the call. */
export function createPerformer(p: PerformerDeps): (command: Performed) => void {
  const { sink, history, speech, caller, replies } = p;
  const fixed = createFixedPhrases(p);

  const performers: Performers = {
    say: (command) => fixed.say(command),
    send_audio: ({ itemId }) => speech.send(itemId),
    end_item: ({ itemId }) => speech.end(itemId),
    clear: () => sink.clear(),
    close_item: (command) => fixed.onClosed(command, speech.close(command)),
    add_to_history({ from, text }) {
      if (from === 'caller') history.addCaller(text);
      else history.addNote(text);
    },
    request_reply: (command) => replies.request(command),
    confirm_reply: () => replies.confirm(),
    cancel_reply: () => replies.cancel(),
    // A failure ends this call only. Unhandled, it would end the process with all its calls.
    run_tool: (command) => void replies.runTool(command).catch((error: Error) => sink.fail(error)),
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

type CommandOf<T extends Performed['type']> = Extract<Performed, { type: T }>;

/** Says the sentences that need no model, and tells the model of those that it must know. */
function createFixedPhrases(p: PerformerDeps) {
  const { call, history, speech } = p;
  const phrases = findPhrases(call.language);
  const firstMessages = new Set<string>();

  function textOf(phrase: FixedPhrase): string {
    if (phrase === 'voicemail_message') return voicemailMessage(call);
    return phrase === 'first_message' ? (firstMessageOf(call) ?? '') : phrases[PHRASES[phrase]];
  }

  async function sayPrepared(itemId: string, phrase: FixedPhrase): Promise<void> {
    const prepared = PREPARED[phrase];
    const audio = prepared && (await p.prepared.getAudio(prepared, p.ttsOptions));
    if (audio === undefined) p.itemFailed(itemId, new ProviderError('voice', `has no audio for the phrase ${phrase}`));
    else speech.sayPrepared(itemId, textOf(phrase), audio);
  }

  return {
    say({ itemId, phrase, by }: CommandOf<'say'>): void {
      if (phrase === 'first_message') firstMessages.add(itemId);
      if (by === 'voice') speech.say(itemId, textOf(phrase));
      else void sayPrepared(itemId, phrase);
    },
    /** @param heard the words of the item that the caller heard */
    onClosed({ itemId, kind, complete }: CommandOf<'close_item'>, heard: string): void {
      // Add the reprompt whether or not the caller heard it, so that the model knows that it has asked.
      if (kind === 'reprompt') history.addAgent(phrases.reprompt);
      if (firstMessages.delete(itemId) && heard !== '') history.addAgent(complete ? heard : `${heard} [interrupted]`);
    },
  };
}

function voicemailMessage({ voicemail, inputParameters }: EngineCall): string {
  return fillParameters(voicemail.message ?? '', inputParameters);
}
