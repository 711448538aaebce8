import type { Logger } from '../../../platform/telemetry/logger.js';
import { firstMessageOf } from '../../session/settings/first-message.js';
import { fillParameters } from '../../session/prompt.js';
import type { FixedPhrase, SessionCommand } from '../../session/reducer/commands.js';
import { spacedDigits } from '../../session/reducer/dtmf.js';
import type { ReplyTask } from '../../session/reducer/kinds.js';
import type { SessionEventBody } from '../../session/reducer/events.js';
import { ONE_MOMENT, SILENT_GOODBYE, SORRY, type OfflinePhrase, type OfflinePhrases } from '../offline-phrases.js';
import type { EngineCall, EngineSink, TranscriptTurn } from '../port.js';
import { textItem } from './protocol.js';
import type { ProviderLink } from './provider-link.js';
import type { Responses } from './responses.js';
import type { ProviderSpeech } from './speech.js';
import type { ToolCalls } from './tool-calls.js';

type Performed = Exclude<SessionCommand, { type: 'start_timer' | 'stop_timer' }>;
type CommandOf<T extends Performed['type']> = Extract<Performed, { type: T }>;
type Performers = { [T in Performed['type']]: (command: CommandOf<T>) => void };

const LOCAL: Partial<Record<FixedPhrase, OfflinePhrase>> = {
  filler: ONE_MOMENT,
  silence_goodbye: SILENT_GOODBYE,
  apology: SORRY,
};

/** Instructions for sentences that the model words freely. */
const TASKS: Partial<Record<FixedPhrase, string>> = {
  reprompt: 'The other person has been silent for a while. Ask in one short sentence whether they are still there.',
  silence_goodbye:
    'The other person has been silent for a long time. Say in one sentence that you cannot hear them and will hang up, and say goodbye.',
};

const nothing = () => undefined;

interface PerformerDeps {
  call: EngineCall;
  sink: EngineSink;
  link: ProviderLink;
  responses: Responses;
  speech: ProviderSpeech;
  tools: ToolCalls;
  phrases: OfflinePhrases;
  logger: Logger;
  dispatch: (what: SessionEventBody) => void;
  storeTurn(turn: TranscriptTurn): void;
  /** Sets whether the provider may answer the caller without a request from us. */
  setAutoReply(answers: boolean): void;
}

/** Executes session commands: sends messages to the provider, controls playback and ends the call. */
export function createProviderPerformer(p: PerformerDeps): (command: Performed) => void {
  const { sink, link, responses, speech, tools } = p;

  const performers: Performers = {
    say: (command) => (command.by === 'voice' ? sayByModel(p, command) : void sayPrepared(p, command)),
    send_audio: ({ itemId }) => speech.send(itemId),
    end_item: ({ itemId }) => speech.end(itemId),
    clear: () => sink.clear(),
    close_item(command) {
      if (!command.complete) responses.cancel(command.itemId);
      speech.close(command);
    },
    add_to_history({ from, text, digits, isTyped }) {
      if (from === 'caller') {
        // The provider has heard what the caller said.
        if (isTyped) link.send(textItem('user', text));
        return;
      }
      const pressed = digits && `[The other person pressed these keys on the phone: ${spacedDigits(digits)}]`;
      link.send(pressed === undefined ? textItem('system', text) : textItem('user', pressed));
    },
    request_reply: ({ replyId, task }) =>
      responses.request({ kind: 'reply', id: replyId, ...tools.onReplyBegin(replyId), ...firstWords(p.call, task) }),
    cancel_reply({ replyId }) {
      tools.onReplyCanceled();
      responses.cancel(replyId);
    },
    set_auto_reply: ({ autoReplies: answers }) => p.setAutoReply(answers),
    // A failure ends this call only. Unhandled, it would end the process with all its calls.
    run_tool: (command) => void tools.run(command).catch((error: Error) => sink.fail(error)),
    answer_tool: ({ toolCallId, answer }) => tools.answer(toolCallId, answer),
    store_turn: ({ speaker, text, startMs, endMs }) => p.storeTurn({ speaker, text, startMs, endMs }),
    store_answered_by: ({ who }) => sink.storeAnsweredBy(who),
    store_latency: (command) => sink.storeLatency(latencyOf(command)),
    end: ({ reason }) => sink.end(reason),
    fail: ({ message }) => sink.fail(new Error(message)),
    // The following commands are not needed, because the provider detects turns and its replies need no confirmation.
    confirm_reply: nothing,
    finalize_transcript: nothing,
    discard_turn: nothing,
    reconnect_stt: nothing,
  };

  return (command) => (performers[command.type] as (command: Performed) => void)(command);
}

function sayByModel({ call, link, responses, dispatch }: PerformerDeps, { itemId, phrase }: CommandOf<'say'>): void {
  const task = phrase === 'voicemail_message' ? messageTask(call) : TASKS[phrase];
  if (task === undefined || !link.hasSession()) {
    return dispatch({ type: 'item_failed', itemId, part: 'model', message: 'the provider is unavailable' });
  }
  link.send(textItem('system', task));
  return responses.request({ kind: 'phrase', id: itemId });
}

/** The request that the model says the agent's first message and nothing else. */
function firstWords(call: EngineCall, task: ReplyTask): { instructions?: string; withoutTools?: true } {
  const message = task === 'introduce' ? firstMessageOf(call)?.replace(/[⟦⟧]/g, '') : undefined;
  if (message === undefined) return {};
  return {
    instructions: `Say exactly the following, word for word, and nothing else: ⟦${message}⟧`,
    withoutTools: true,
  };
}

function messageTask({ voicemail, inputParameters }: EngineCall): string {
  const message = fillParameters(voicemail.message ?? '', inputParameters).replace(/[⟦⟧]/g, '');
  return `The voicemail is recording now. Say exactly the following and nothing else: ⟦${message}⟧`;
}

async function sayPrepared(p: PerformerDeps, { itemId, phrase }: CommandOf<'say'>): Promise<void> {
  const local = LOCAL[phrase];
  try {
    if (local === undefined) throw new Error(`there is no text for the phrase ${phrase}`);
    p.speech.sayPrepared(itemId, local, await p.phrases.synthesize(local, p.call.voice));
  } catch (error) {
    p.logger.warn({ callId: p.call.callId, err: error }, 'fixed phrase could not be synthesized');
    p.dispatch({ type: 'item_failed', itemId, part: 'voice', message: 'a fixed phrase could not be synthesized' });
  }
}

/** Splits the latency into two parts: the provider's end-of-turn detection, and its reply. */
function latencyOf({ sinceMs, knownMs, atMs }: CommandOf<'store_latency'>) {
  const recogniser = Math.max(0, Math.round(knownMs - sinceMs));
  const model = Math.max(0, Math.round(atMs - knownMs));
  const begunMs = { recogniser: sinceMs, model: knownMs };
  return { atMs: Math.round(atMs), totalMs: recogniser + model, parts: { recogniser, model }, begunMs };
}
