import type { Logger } from '../../../platform/telemetry/logger.js';
import { filled } from '../../session/prompt.js';
import type { FixedLine, SessionCommand } from '../../session/reducer/commands.js';
import { spacedDigits } from '../../session/reducer/dtmf.js';
import type { SessionHappening } from '../../session/reducer/events.js';
import { ONE_MOMENT, SILENT_GOODBYE, SORRY, type LocalLine, type LocalLines } from '../local-lines.js';
import type { EngineCall, EngineSink, TranscriptTurn } from '../port.js';
import { textItem } from './protocol.js';
import type { ProviderLink } from './provider-link.js';
import type { Responses } from './responses.js';
import type { ProviderSpeech } from './speech.js';
import type { ToolCalls } from './tool-calls.js';

type Performed = Exclude<SessionCommand, { type: 'start_timer' | 'stop_timer' }>;
type CommandOf<T extends Performed['type']> = Extract<Performed, { type: T }>;
type Performers = { [T in Performed['type']]: (command: CommandOf<T>) => void };

const LOCAL: Partial<Record<FixedLine, LocalLine>> = {
  one_moment: ONE_MOMENT,
  silent_goodbye: SILENT_GOODBYE,
  sorry: SORRY,
};

/** Sentences that the model says in its own words, with its instructions. */
const TASKS: Partial<Record<FixedLine, string>> = {
  are_you_there: 'The far end has been silent for a while. Ask in one short sentence whether they are still there.',
  silent_goodbye:
    'The far end has been silent for long. Say in one sentence that you cannot hear them and will hang up, and goodbye.',
};

const nothing = () => undefined;

interface PerformerDeps {
  call: EngineCall;
  sink: EngineSink;
  link: ProviderLink;
  responses: Responses;
  speech: ProviderSpeech;
  tools: ToolCalls;
  lines: LocalLines;
  logger: Logger;
  happened: (what: SessionHappening) => void;
  note(turn: TranscriptTurn): void;
  /** Sets whether the provider may answer the caller by itself. */
  letAnswer(answers: boolean): void;
}

/** Executes session commands: sends messages to the provider and acts on the line. */
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
    tell_model({ from, text, digits }) {
      if (from === 'caller') return;
      const pressed = digits && `[The far end pressed these keys of the telephone: ${spacedDigits(digits)}]`;
      link.send(pressed === undefined ? textItem('system', text) : textItem('user', pressed));
    },
    request_reply: ({ replyId }) => responses.want({ kind: 'reply', id: replyId, ...tools.replyBegins(replyId) }),
    cancel_reply({ replyId }) {
      tools.replyTakenBack();
      responses.cancel(replyId);
    },
    let_provider_answer: ({ answers }) => p.letAnswer(answers),
    run_tool: (command) => void tools.run(command),
    answer_tool: ({ toolCallId, answer }) => tools.answer(toolCallId, answer),
    store_turn: ({ speaker, text, startMs, endMs }) => p.note({ speaker, text, startMs, endMs }),
    store_answered_by: ({ who }) => sink.answeredBy(who),
    store_latency: (command) => sink.latency(latencyOf(command)),
    end: ({ reason }) => sink.end(reason),
    fail: ({ message }) => sink.fail(new Error(message)),
    // Not needed: the provider detects turns itself, and its replies need no confirmation.
    confirm_reply: nothing,
    hurry_recogniser: nothing,
    forget_turn: nothing,
    reopen_recogniser: nothing,
  };

  return (command) => (performers[command.type] as (command: Performed) => void)(command);
}

function sayByModel({ call, link, responses, happened }: PerformerDeps, { itemId, line }: CommandOf<'say'>): void {
  const task = line === 'voicemail_message' ? messageTask(call) : TASKS[line];
  if (task === undefined || !link.hasSession()) {
    return happened({ type: 'item_failed', itemId, part: 'model', message: 'the provider is away' });
  }
  link.send(textItem('system', task));
  return responses.want({ kind: 'line', id: itemId });
}

function messageTask({ voicemail, inputParameters }: EngineCall): string {
  const message = filled(voicemail.message ?? '', inputParameters).replace(/[⟦⟧]/g, '');
  return `The mailbox records now. Say exactly the following and nothing else: ⟦${message}⟧`;
}

async function sayPrepared(p: PerformerDeps, { itemId, line }: CommandOf<'say'>): Promise<void> {
  const local = LOCAL[line];
  try {
    if (local === undefined) throw new Error('there is no such line');
    p.speech.sayPrepared(itemId, local, await p.lines.audioOf(local, p.call.voice));
  } catch (error) {
    p.logger.warn({ callId: p.call.callId, err: error }, 'there is no offline speech');
    p.happened({ type: 'item_failed', itemId, part: 'voice', message: 'there is no offline speech' });
  }
}

/** Two parts only: the provider's end-of-turn detection, and its reply. */
function latencyOf({ sinceMs, knownMs, atMs }: CommandOf<'store_latency'>) {
  const recogniser = Math.max(0, Math.round(knownMs - sinceMs));
  const model = Math.max(0, Math.round(atMs - knownMs));
  return { atMs: Math.round(atMs), totalMs: recogniser + model, parts: { recogniser, model } };
}
