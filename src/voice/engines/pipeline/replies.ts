import type { SessionCommand } from '../../session/reducer/commands.js';
import type { SessionHappening } from '../../session/reducer/events.js';
import type { ToolRounds } from '../../session/tool-rounds.js';
import type { UsageMeter } from '../engine-usage.js';
import type { EngineCall, EngineSink, ToolAnswer } from '../port.js';
import type { ChatModel, ModelUsage, ProviderError, ToolRequest } from './ports.js';
import type { PreparedLines } from './prepared-lines.js';
import { startReply, type Reply } from './reply.js';
import type { Speech } from './speech.js';
import { callerMessage, type Talk } from './talk.js';
import { argumentsOf, isLastTool, toolsFor } from './tools.js';

type CommandOf<T extends SessionCommand['type']> = Extract<SessionCommand, { type: T }>;

export type Replies = ReturnType<typeof createReplies>;

/** The replies of one call, one at a time, and their tool calls. */
export function createReplies(p: {
  deps: { model: ChatModel; prepared: PreparedLines; log(callId: string, message: string, error?: Error): void };
  call: EngineCall;
  sink: EngineSink;
  talk: Talk;
  usage: UsageMeter;
  now: () => number;
  speech: Speech;
  toolRounds: ToolRounds;
  happened: (what: SessionHappening) => void;
}) {
  const { deps, call, talk, speech, happened } = p;
  const tools = toolsFor(call);
  let reply: Reply | undefined;
  /** Resolves when the tool calls of earlier replies have finished; the next reply must know their results. */
  let toolsCalled: Promise<unknown> = Promise.resolve();
  let toolCalls = 0;
  const answers = new Map<string, (answer: ToolAnswer) => void>();

  function callTool(replyId: string, request: ToolRequest): Promise<ToolAnswer> {
    const toolCallId = `tool-${++toolCalls}`;
    return new Promise((resolve) => {
      answers.set(toolCallId, resolve);
      const { name } = request;
      happened({ type: 'tool_called', replyId, toolCallId, name, arguments: argumentsOf(request) });
    });
  }

  function answer(toolCallId: string, given: ToolAnswer): void {
    answers.get(toolCallId)?.(given);
    answers.delete(toolCallId);
  }

  function addUsage(counts: ModelUsage): void {
    p.usage.add('chat_input_tokens', counts.inputTokens);
    p.usage.add('chat_cached_input_tokens', counts.cachedInputTokens);
    p.usage.add('chat_output_tokens', counts.outputTokens);
  }

  function onFailed(replyId: string, error: ProviderError): void {
    deps.log(call.callId, 'a reply came to nothing', error);
    happened({ type: 'reply_failed', replyId, part: error.part, message: error.message });
  }

  function onDone(replyId: string): void {
    deps.prepared.prepare(call.voice, call.language);
    happened({ type: 'reply_done', replyId });
  }

  return {
    request({ replyId, confirmed, heard }: CommandOf<'request_reply'>): void {
      const begun: Reply = startReply({
        replyId,
        model: deps.model,
        tools,
        toolRounds: p.toolRounds,
        after: toolsCalled,
        messages() {
          const messages = talk.messages();
          return heard === undefined || begun.isConfirmed() ? messages : [...messages, callerMessage(heard)];
        },
        confirmed,
        now: p.now,
        openUtterance: (options) => speech.openForReply({ ...options, replyId }),
        forgetUtterance: (itemId) => speech.forget(itemId),
        callTool: (request) => callTool(replyId, request),
        isLast: isLastTool,
        onUsage: addUsage,
        onHeardFirst: (times) => happened({ type: 'reply_heard', replyId, times }),
        onFailed: (error) => onFailed(replyId, error),
        onDone: () => onDone(replyId),
      });
      reply = begun;
      if (confirmed) talk.add(begun);
    },
    confirm(): void {
      if (reply === undefined) return;
      talk.add(reply);
      reply.confirm();
    },
    cancel(): void {
      toolsCalled = reply?.toolsCalled() ?? toolsCalled;
      reply?.cancel();
      reply = undefined;
    },
    answer,
    async runTool({ toolCallId, name, arguments: given }: CommandOf<'run_tool'>): Promise<void> {
      const result = await p.sink.tool({ name, arguments: given });
      happened({ type: 'tool_finished', endsCall: isLastTool(name), ok: result.ok });
      answer(toolCallId, result);
    },
  };
}
