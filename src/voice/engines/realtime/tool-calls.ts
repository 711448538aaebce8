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
  /** Null when the model wrote something that is no JSON object. */
  arguments: Record<string, unknown> | null;
}

const END_CALL = 'end_call';
const NO_MORE: ToolAnswer = { ok: false, error: 'no more tool calls for now; go on without them' };
const SAY_GOODBYE = 'Say goodbye in one short sentence; the call ends after it.';

export type ToolCalls = ReturnType<typeof createToolCalls>;

/** Tells the session what the model asks of tools, does what the session says, and brings the model the answers. */
export function createToolCalls(p: {
  sink: EngineSink;
  link: ProviderLink;
  rounds: ToolRounds;
  happened: (what: SessionHappening) => void;
  state: () => SessionState;
}) {
  const { sink, link, rounds, happened, state } = p;
  const answers = new Map<string, (answer: ToolAnswer) => void>();
  /** The next reply answers what tools brought. */
  let answersTools = false;
  /** The call ends after a goodbye that the model was asked for, by a reply that may not be begun yet. */
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

  /** The model is to go on: without any more tools where the call has had its share. */
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

  /** Ends the call by the tool: who answers for the call may refuse it. */
  async function end(replyId: string, tool: RequestedTool): Promise<void> {
    const answer = await answerOf(replyId, tool);
    if (state().stopped || answer.ok) return;
    bring(link, tool, answer, link.generation());
    goOn();
  }

  /** What the model reports is no question: it is not asked to go on. */
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
    /** Does what a reply that is made asks for. */
    replyMade(response: RealtimeResponse, { purpose, hasAudio }: DoneResponse): void {
      if (goodbye?.replyId === purpose.id) {
        const { tool } = goodbye;
        goodbye = undefined;
        return void end(purpose.id, tool);
      }
      const tools = toolsIn(response);
      const machine = tools.find(({ name }) => name === ANSWERING_MACHINE_TOOL);
      if (machine !== undefined) return void report(purpose.id, machine);
      // A model that was told to call no tool, and does so, is not asked again: that could go on for ever.
      if (purpose.withoutTools === true) return refuse(tools);
      if (tools.length > 0) callAll(purpose.id, tools, hasAudio);
      return undefined;
    },

    /** Another reply begins. @returns whether the model must not call tools in it */
    replyBegins(replyId: string): { withoutTools: boolean } {
      const withoutTools = answersTools && !rounds.hasRoom();
      answersTools = false;
      if (goodbye !== undefined) goodbye = { tool: goodbye.tool, replyId };
      return { withoutTools };
    },

    /** The caller is answered instead. */
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
  // A session that did not ask for it knows no call to put the answer to.
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
