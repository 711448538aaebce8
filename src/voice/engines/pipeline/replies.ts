import type { SessionCommand } from '../../session/reducer/commands.js';
import type { SessionEventBody } from '../../session/reducer/events.js';
import type { ToolRounds } from '../../session/tool-rounds.js';
import { createModelCharges } from '../../session/model-charges.js';
import { costAt, type EnginePrices, type UsageMeter } from '../engine-usage.js';
import type { EngineCall, EngineSink, ToolResult } from '../port.js';
import type { OnIgnored } from '../ignored-settings.js';
import { mapProviders, settingsFor, unitOf, type OpenChain, type PipelineProviders } from '../chain/pipeline-chains.js';
import type { ProviderId } from '../chain/provider-health.js';
import type { ModelUsage, ProviderError, ToolRequest, TtsOptions } from './ports.js';
import { meterModel } from './metered-model.js';
import type { PreparedPhrases } from './prepared-phrases.js';
import { startReply, type Reply } from './reply.js';
import type { RoundDeps } from './reply-round.js';
import type { Speech } from './speech.js';
import { callerMessage, type ChatHistory } from './chat-history.js';
import { parseToolArguments } from '../../tools/shallow-json.js';
import { isFinalTool, listChatTools } from './tools.js';

type CommandOf<T extends SessionCommand['type']> = Extract<SessionCommand, { type: T }>;

export type Replies = ReturnType<typeof createReplies>;

interface RepliesDeps {
  deps: {
    providers: Pick<PipelineProviders, 'llm'>;
    prepared: PreparedPhrases;
    prices: EnginePrices;
    log(callId: string, message: string, details?: object): void;
  };
  call: EngineCall;
  ttsOptions: TtsOptions;
  onIgnored: OnIgnored;
  sink: EngineSink;
  history: ChatHistory;
  usage: UsageMeter;
  tokens: RoundDeps['tokens'];
  now: () => number;
  speech: Speech;
  toolRounds: ToolRounds;
  openChain: OpenChain;
  dispatch: (what: SessionEventBody) => void;
  /** Called at each failure of the model, also if it is asked once more. */
  onFailure(error: ProviderError): void;
}

/** The replies of one call, one at a time, and their tool calls. */
export function createReplies(p: RepliesDeps) {
  const { deps, call, history, speech, dispatch } = p;
  const tools = listChatTools(call);
  let reply: Reply | undefined;
  /** Resolves when the tool calls of earlier replies have finished, because the next reply needs their results. */
  let pendingTools: Promise<unknown> = Promise.resolve();
  let toolCalls = 0;
  let toolRequests = 0;
  const charges = createModelCharges();
  const metered = mapProviders(deps.providers.llm, (provider) =>
    meterModel(
      provider.port,
      { settings: settingsFor(provider, call.settings ?? {}), onIgnored: p.onIgnored },
      (usage) => addUsage(usage, provider),
    ),
  );
  const models = p.openChain(metered);
  const answers = new Map<string, (answer: ToolResult) => void>();

  function callTool(replyId: string, request: ToolRequest): Promise<ToolResult> {
    const toolCallId = `tool-${++toolCalls}`;
    return new Promise((resolve) => {
      answers.set(toolCallId, resolve);
      const { name } = request;
      dispatch({ type: 'tool_called', replyId, toolCallId, name, arguments: parseToolArguments(request.arguments) });
    });
  }

  function answer(toolCallId: string, given: ToolResult): void {
    answers.get(toolCallId)?.(given);
    answers.delete(toolCallId);
  }

  function addUsage({ inputTokens, cachedInputTokens, outputTokens }: ModelUsage, provider: ProviderId): void {
    const units = {
      [unitOf('chat_input_tokens', provider)]: inputTokens,
      [unitOf('chat_cached_input_tokens', provider)]: cachedInputTokens,
      [unitOf('chat_output_tokens', provider)]: outputTokens,
    };
    for (const [unit, count] of Object.entries(units)) p.usage.add(unit, count);
    const count = charges.repliesFor(costAt(deps.prices, units));
    if (count > 0) dispatch({ type: 'replies_charged', count });
  }

  function onFailed(replyId: string, error: ProviderError): void {
    deps.log(call.callId, 'reply failed', { err: error });
    // Failures of TTS are reported when they occur.
    if (error.part === 'model') p.onFailure(error);
    dispatch({ type: 'reply_failed', replyId, part: error.part, message: error.message });
  }

  function onDone(replyId: string): void {
    deps.prepared.prepare(p.ttsOptions, p.usage);
    dispatch({ type: 'reply_done', replyId });
  }

  return {
    request({ replyId, confirmed, heard }: CommandOf<'request_reply'>): void {
      charges.replyBegun();
      const begun: Reply = startReply({
        replyId,
        models,
        tokens: p.tokens,
        tools,
        toolRounds: p.toolRounds,
        after: pendingTools,
        messages() {
          const messages = history.messages();
          return heard === undefined || begun.isConfirmed() ? messages : [...messages, callerMessage(heard)];
        },
        confirmed,
        now: p.now,
        openUtterance: (options) => speech.openForReply({ ...options, replyId }),
        forgetUtterance: (itemId) => speech.forget(itemId),
        callTool: (request) => callTool(replyId, request),
        newToolRequestId: () => toolRequestId((toolRequests += 1)),
        isLast: isFinalTool,
        onFirstAudio: (times) => dispatch({ type: 'reply_heard', replyId, times }),
        onRetry: (error) => p.onFailure(error),
        onFailed: (error) => onFailed(replyId, error),
        onDone: () => onDone(replyId),
      });
      reply = begun;
      if (confirmed) history.addPart(begun);
    },
    confirm(): void {
      if (reply === undefined) return;
      history.addPart(reply);
      reply.confirm();
    },
    cancel(): void {
      pendingTools = reply?.pendingTools() ?? pendingTools;
      reply?.cancel();
      reply = undefined;
    },
    answer,
    /** Resolves when the usage of canceled replies is counted, or after `ms`. */
    async settled(ms: number): Promise<void> {
      await Promise.all(metered.map(({ port }) => port.settled(ms)));
    },
    /** The model of the call's last replies. */
    model: () => models.current(),
    async runTool({ toolCallId, name, arguments: given }: CommandOf<'run_tool'>): Promise<void> {
      const result = await p.sink.runTool({ name, arguments: given });
      dispatch({ type: 'tool_finished', endsCall: isFinalTool(name), ok: result.ok });
      answer(toolCallId, result);
    },
  };
}

/**
 * An id for the chat history in place of the provider's, which another provider may reject: OpenAI's limit is 40
 * characters (64 in `/responses`), and Mistral takes exactly 9 letters or digits.
 */
function toolRequestId(number: number): string {
  return `t${String(number).padStart(8, '0')}`;
}
