import type { SessionCommand } from '../../session/reducer/commands.js';
import type { SessionHappening } from '../../session/reducer/events.js';
import { ANSWERING_MACHINE_TOOL, endsCall } from '../../session/reducer/tools.js';
import { isAgentSpeaking, type SessionState } from '../../session/reducer/state.js';
import type { ToolRounds } from '../../session/tool-rounds.js';
import type { EngineSink, ToolAnswer } from '../port.js';
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
const NO_MORE: ToolAnswer = { ok: false, error: 'no more tool calls for now; go on without them' };
const SAY_GOODBYE = 'Say goodbye in one short sentence; the call ends after it.';

export type ToolCalls = ReturnType<typeof createToolCalls>;

/** Reports the model's tool calls to the session, runs them on command, and returns their results to the model. */
export function createToolCalls(p: {
  sink: EngineSink;
  link: ProviderLink;
  rounds: ToolRounds;
  happened: (what: SessionHappening) => void;
  state: () => SessionState;
}) {
  const { sink, link, rounds, happened, state } = p;
  const answers = new Map<string, (answer: ToolAnswer) => void>();
  /** The next reply answers tool results. */
  let answersTools = false;
  /** Set while `end_call` waits for a goodbye that the model was asked for; `replyId` once that reply has begun. */
  let goodbye: { tool: RequestedTool; replyId?: string } | undefined;

  function answerOf(
    replyId: string,
    { callId: toolCallId, name, arguments: given }: RequestedTool,
  ): Promise<ToolAnswer> {
    return new Promise((resolve) => {
      answers.set(toolCallId, resolve);
      happened({ type: 'tool_called', replyId, toolCallId, name, arguments: given });
    });
  }

  /** Requests a reply to the tool results. */
  function goOn(): void {
    answersTools = true;
    happened({ type: 'reply_wanted' });
  }

  const refuse = (tools: readonly RequestedTool[]) =>
    tools.forEach((tool) => bring(link, tool, NO_MORE, link.generation()));

  async function work(replyId: string, tools: readonly RequestedTool[]): Promise<void> {
    const generation = link.generation();
    const asked = tools.map(async (tool) => {
      const answer = await answerOf(replyId, tool);
      if (!state().stopped) bring(link, tool, answer, generation);
    });
    await Promise.all(asked);
    if (!state().stopped) goOn();
  }

  /** Runs the tool that ends the call; if it is rejected, the model continues. */
  async function end(replyId: string, tool: RequestedTool): Promise<void> {
    const answer = await answerOf(replyId, tool);
    if (state().stopped || answer.ok) return;
    bring(link, tool, answer, link.generation());
    goOn();
  }

  /** Runs `answering_machine`, which is a report: the model is not asked to continue. */
  async function report(replyId: string, tool: RequestedTool): Promise<void> {
    const answer = await answerOf(replyId, tool);
    if (!state().stopped) bring(link, tool, answer, link.generation());
  }

  function answer(toolCallId: string, given: ToolAnswer): void {
    answers.get(toolCallId)?.(given);
    answers.delete(toolCallId);
  }

  function callAll(replyId: string, tools: readonly RequestedTool[], hasAudio: boolean): void {
    const hasRoom = rounds.hasRoom();
    rounds.count();
    const others = tools.filter(({ name }) => name !== END_CALL);
    const ending = tools.find(({ name }) => name === END_CALL);
    if (others.length > 0 && hasRoom) void work(replyId, others);
    else if (others.length > 0) {
      refuse(others);
      if (ending === undefined) goOn();
    }
    if (ending === undefined) return;
    if (hasAudio || isAgentSpeaking(state())) return void end(replyId, ending);
    link.send(toolOutputItem(ending.callId, SAY_GOODBYE));
    goodbye = { tool: ending };
    happened({ type: 'reply_wanted' });
  }

  return {
    /** Handles the tool calls of a finished reply. */
    replyMade(response: RealtimeResponse, { purpose, hasAudio }: DoneResponse): void {
      if (goodbye?.replyId === purpose.id) {
        const { tool } = goodbye;
        goodbye = undefined;
        return void end(purpose.id, tool);
      }
      const tools = toolsIn(response);
      const machine = tools.find(({ name }) => name === ANSWERING_MACHINE_TOOL);
      if (machine !== undefined) return void report(purpose.id, machine);
      // Do not ask again a model that calls tools although it must not: that could loop forever.
      if (purpose.withoutTools === true) return refuse(tools);
      if (tools.length > 0) callAll(purpose.id, tools, hasAudio);
      return undefined;
    },

    /** A reply begins. @returns whether the model must not call tools in it */
    replyBegins(replyId: string): { withoutTools: boolean } {
      const withoutTools = answersTools && !rounds.hasRoom();
      answersTools = false;
      if (goodbye !== undefined) goodbye = { tool: goodbye.tool, replyId };
      return { withoutTools };
    },

    /** The reply was canceled, because the caller is answered instead. */
    replyTakenBack(): void {
      answersTools = false;
      goodbye = undefined;
    },

    async run({ toolCallId, name, arguments: given }: Extract<SessionCommand, { type: 'run_tool' }>): Promise<void> {
      const failed = { ok: false, error: 'the tool failed' } as const;
      const result = await sink.tool({ name, arguments: given }).catch(() => failed);
      happened({ type: 'tool_finished', endsCall: endsCall(name), ok: result.ok });
      answer(toolCallId, result);
    },

    answer,
  };
}

function bring(link: ProviderLink, tool: RequestedTool, answer: ToolAnswer, generation: number): void {
  const text = JSON.stringify(answer.ok ? (answer.result ?? null) : { error: answer.error });
  // A new session does not know the tool call, so send the result as text.
  if (generation === link.generation() && link.isReady()) link.send(toolOutputItem(tool.callId, text));
  else link.send(textItem('system', `The tool ${tool.name} answered: ⟦${text.replace(/[⟦⟧]/g, '')}⟧`));
}

function toolsIn({ output }: RealtimeResponse): RequestedTool[] {
  return output.flatMap((item) => {
    if (item.type !== 'function_call' || item.name === undefined || item.call_id === undefined) return [];
    return [{ callId: item.call_id, name: item.name, arguments: objectIn(item.arguments ?? '') }];
  });
}

function objectIn(json: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(json === '' ? '{}' : json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
