import type { ToolRounds } from '../../session/tool-rounds.js';
import type { EngineSink, ToolAnswer } from '../port.js';
import type { Farewell } from './farewell.js';
import { textItem, toolOutputItem } from './protocol.js';
import type { RealtimeResponse } from './protocol.js';
import type { ProviderLink } from './provider-link.js';
import type { Purpose, Responses } from './responses.js';
import { ANSWERING_MACHINE_TOOL } from '../../session/reducer/tools.js';

interface RequestedTool {
  callId: string;
  name: string;
  /** Undefined when the model wrote something that is no JSON object. */
  arguments: Record<string, unknown> | undefined;
}

const END_CALL = 'end_call';
const NO_MORE: ToolAnswer = { ok: false, error: 'no more tool calls for now; go on without them' };
const SAY_GOODBYE = 'Say goodbye in one short sentence; the call ends after it.';

/** Has the work done that the model asks for by tools, and brings it the answers. */
export function createToolCalls(deps: {
  sink: EngineSink;
  link: ProviderLink;
  responses: Responses;
  farewell: Farewell;
  rounds: ToolRounds;
  /** Something the agent says is on the line. */
  isAgentHeard: () => boolean;
  callerSpeaks: () => boolean;
  isOver: () => boolean;
  /** The model hears an answering machine. */
  onMachine(): void;
}) {
  const { sink, link, responses, farewell, rounds } = deps;
  let working = 0;
  let workingSinceMs = 0;

  async function answerOf(tool: RequestedTool): Promise<ToolAnswer> {
    if (tool.arguments === undefined) return { ok: false, error: 'the arguments are no JSON object' };
    if (working === 0) workingSinceMs = performance.now();
    working += 1;
    try {
      return await sink.tool({ name: tool.name, arguments: tool.arguments });
    } catch {
      return { ok: false, error: 'the tool failed' };
    } finally {
      working -= 1;
    }
  }

  /** Ends the call by the tool: who answers for the call may refuse it. */
  async function end(tool: RequestedTool): Promise<void> {
    farewell.leave();
    const answer = await answerOf(tool);
    if (deps.isOver() || answer.ok) return;
    farewell.stay();
    bring(tool, answer, link.generation());
    goOn();
  }

  /** Asks the model to answer what tools brought: without any more of them where the call has had its share. */
  function goOn(): void {
    responses.want({ kind: 'reply', ...(rounds.hasRoom() ? {} : { withoutTools: true }) });
  }

  function refuse(tools: readonly RequestedTool[]): void {
    for (const tool of tools) bring(tool, NO_MORE, link.generation());
  }

  function bring(tool: RequestedTool, answer: ToolAnswer, generation: number): void {
    const text = JSON.stringify(answer.ok ? (answer.result ?? null) : { error: answer.error });
    // A session that did not ask for it knows no call to put the answer to.
    if (generation === link.generation() && link.isReady()) link.send(toolOutputItem(tool.callId, text));
    else link.send(textItem('system', `The tool ${tool.name} answered: ⟦${text.replace(/[⟦⟧]/g, '')}⟧`));
  }

  async function work(tools: readonly RequestedTool[]): Promise<void> {
    const generation = link.generation();
    await Promise.all(
      tools.map(async (tool) => {
        const answer = await answerOf(tool);
        if (!deps.isOver()) bring(tool, answer, generation);
      }),
    );
    // A caller who speaks is answered by itself after it.
    if (!deps.isOver() && !deps.callerSpeaks() && !farewell.isLeaving()) goOn();
  }

  return {
    /** Does what a finished response asks for. */
    call(response: RealtimeResponse, { purpose, hasAudio }: { purpose: Purpose; hasAudio: boolean }): void {
      const requested = toolsIn(response);
      if (requested.some(({ name }) => name === ANSWERING_MACHINE_TOOL)) return deps.onMachine();
      // A model that was told to call no tool, and does so, is not asked again: that could go on for ever.
      if (purpose.withoutTools === true) return refuse(requested);
      const hasRoom = rounds.hasRoom();
      if (requested.length > 0) rounds.count();
      const others = requested.filter(({ name }) => name !== END_CALL);
      const ending = requested.find(({ name }) => name === END_CALL);
      if (others.length > 0 && hasRoom) void work(others);
      else if (others.length > 0) {
        refuse(others);
        if (ending === undefined && !deps.callerSpeaks() && !farewell.isLeaving()) goOn();
      }
      if (ending === undefined || farewell.isLeaving()) return;
      if (hasAudio || deps.isAgentHeard()) return void end(ending);
      link.send(toolOutputItem(ending.callId, SAY_GOODBYE));
      responses.want({ kind: 'reply', onDone: () => void end(ending) });
    },

    isBusy: () => working > 0,
    /** How long the slowest has been at work, ms. */
    waitedMs: () => (working === 0 ? 0 : performance.now() - workingSinceMs),
  };
}

function toolsIn({ output }: RealtimeResponse): RequestedTool[] {
  return output.flatMap((item) => {
    if (item.type !== 'function_call' || item.name === undefined || item.call_id === undefined) return [];
    return [{ callId: item.call_id, name: item.name, arguments: objectIn(item.arguments ?? '') }];
  });
}

function objectIn(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json === '' ? '{}' : json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
