import type { SessionCommand } from '../../session/reducer/commands.js';
import type { SessionEventBody } from '../../session/reducer/events.js';
import { ANSWERING_MACHINE_TOOL, endsCall } from '../../session/reducer/tools.js';
import { isAgentSpeaking, type SessionState } from '../../session/reducer/state.js';
import { MAX_CALLS_PER_ROUND, type ToolRounds } from '../../session/tool-rounds.js';
import type { EngineSink, ToolResult } from '../port.js';
import { parseToolArguments } from '../../tools/shallow-json.js';
import { textItem, toolOutputItem } from './protocol.js';
import type { RealtimeResponse } from './protocol.js';
import type { ProviderLink } from './provider-link.js';
import type { DoneResponse } from './responses.js';

interface RequestedTool {
  callId: string;
  name: string;
  /** Null if the model wrote something other than a JSON object. */
  arguments: Record<string, unknown> | null;
}

const END_CALL = 'end_call';
const NO_MORE: ToolResult = { ok: false, error: 'no more tool calls for now; continue without them' };
const SAY_GOODBYE = 'Say goodbye in one short sentence; the call ends after it.';

export type ToolCalls = ReturnType<typeof createToolCalls>;

/** Reports the model's tool calls to the session, runs them on command, and returns their results to the model. */
export function createToolCalls(p: {
  sink: EngineSink;
  link: ProviderLink;
  rounds: ToolRounds;
  dispatch: (what: SessionEventBody) => void;
  state: () => SessionState;
}) {
  const { sink, link, rounds, dispatch, state } = p;
  const answers = new Map<string, (answer: ToolResult) => void>();
  /** Whether the next reply responds to tool results. */
  let answersTools = false;
  /** Set while `end_call` waits for the model to say goodbye; `replyId` is set once that reply has begun. */
  let goodbye: { tool: RequestedTool; replyId?: string } | undefined;

  function answerOf(
    replyId: string,
    { callId: toolCallId, name, arguments: given }: RequestedTool,
  ): Promise<ToolResult> {
    return new Promise((resolve) => {
      answers.set(toolCallId, resolve);
      dispatch({ type: 'tool_called', replyId, toolCallId, name, arguments: given });
    });
  }

  /** Requests a reply to the tool results. */
  function requestReply(): void {
    answersTools = true;
    dispatch({ type: 'reply_wanted' });
  }

  const rejectTools = (tools: readonly RequestedTool[]) =>
    tools.forEach((tool) => sendResult(link, tool, NO_MORE, link.generation()));

  async function runTool(replyId: string, tool: RequestedTool): Promise<void> {
    const generation = link.generation();
    const answer = await answerOf(replyId, tool);
    if (!state().stopped) sendResult(link, tool, answer, generation);
  }

  async function runTools(replyId: string, tools: readonly RequestedTool[]): Promise<void> {
    rejectTools(tools.slice(MAX_CALLS_PER_ROUND));
    await Promise.all(tools.slice(0, MAX_CALLS_PER_ROUND).map((tool) => runTool(replyId, tool)));
    if (!state().stopped) requestReply();
  }

  /** Runs the tool that ends the call. If the tool is rejected, the model continues the conversation. */
  async function end(replyId: string, tool: RequestedTool): Promise<void> {
    const answer = await answerOf(replyId, tool);
    if (state().stopped || answer.ok) return;
    sendResult(link, tool, answer, link.generation());
    requestReply();
  }

  function answer(toolCallId: string, given: ToolResult): void {
    answers.get(toolCallId)?.(given);
    answers.delete(toolCallId);
  }

  function callAll(replyId: string, tools: readonly RequestedTool[], hasAudio: boolean): void {
    const hasRoom = rounds.hasRoom();
    rounds.count();
    const others = tools.filter(({ name }) => name !== END_CALL);
    const ending = tools.find(({ name }) => name === END_CALL);
    if (others.length > 0 && hasRoom) void runTools(replyId, others);
    else if (others.length > 0) {
      rejectTools(others);
      if (ending === undefined) requestReply();
    }
    if (ending === undefined) return;
    if (hasAudio || isAgentSpeaking(state())) return void end(replyId, ending);
    link.send(toolOutputItem(ending.callId, SAY_GOODBYE));
    goodbye = { tool: ending };
    dispatch({ type: 'reply_wanted' });
  }

  return {
    /** Handles the tool calls of a finished reply. */
    onReplyDone(response: RealtimeResponse, { purpose, hasAudio }: DoneResponse): void {
      if (goodbye?.replyId === purpose.id) {
        const { tool } = goodbye;
        goodbye = undefined;
        return void end(purpose.id, tool);
      }
      const tools = toolsIn(response);
      const machine = tools.find(({ name }) => name === ANSWERING_MACHINE_TOOL);
      // The model only reports something with this tool, so it need not continue.
      if (machine !== undefined) return void runTool(purpose.id, machine);
      // If the model calls tools although it must not, do not ask it again, because that could loop forever.
      if (purpose.withoutTools === true) return rejectTools(tools);
      if (tools.length > 0) callAll(purpose.id, tools, hasAudio);
      return undefined;
    },

    /** Call this when a reply begins. @returns whether the model must not call tools in that reply */
    onReplyBegin(replyId: string): { withoutTools: boolean } {
      const withoutTools = answersTools && !rounds.hasRoom();
      answersTools = false;
      if (goodbye !== undefined) goodbye = { tool: goodbye.tool, replyId };
      return { withoutTools };
    },

    /** Call this when a reply was canceled because the caller has spoken and must be answered instead. */
    onReplyCanceled(): void {
      answersTools = false;
      goodbye = undefined;
    },

    async run({ toolCallId, name, arguments: given }: Extract<SessionCommand, { type: 'run_tool' }>): Promise<void> {
      const failed = { ok: false, error: 'the tool failed' } as const;
      const result = await sink.runTool({ name, arguments: given }).catch(() => failed);
      dispatch({ type: 'tool_finished', endsCall: endsCall(name), ok: result.ok });
      answer(toolCallId, result);
    },

    answer,
  };
}

function sendResult(link: ProviderLink, tool: RequestedTool, answer: ToolResult, generation: number): void {
  const text = JSON.stringify(answer.ok ? (answer.result ?? null) : { error: answer.error });
  // A new session does not know the tool call, so send the result as text.
  if (generation === link.generation() && link.isReady()) link.send(toolOutputItem(tool.callId, text));
  else link.send(textItem('system', `The tool ${tool.name} answered: ⟦${text.replace(/[⟦⟧]/g, '')}⟧`));
}

function toolsIn({ output }: RealtimeResponse): RequestedTool[] {
  return output.flatMap((item) => {
    if (item.type !== 'function_call' || !item.name || !item.call_id) return [];
    return [{ callId: item.call_id, name: item.name, arguments: parseToolArguments(item.arguments ?? '') }];
  });
}
