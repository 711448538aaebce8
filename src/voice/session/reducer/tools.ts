import type { SessionEvent } from './events.js';
import { armFiller } from './filler.js';
import { providerStartsReplies, type SessionState, type SessionStep } from './state.js';
import { handleMachine } from './voicemail.js';

/**
 * The name of the tool by which the model reports an answering machine. The session handles it without running a tool.
 */
export const ANSWERING_MACHINE_TOOL = 'answering_machine';

/** Tools by which the agent leaves the call. After one of them has run, the agent says nothing more. */
const ENDING_TOOLS: ReadonlySet<string> = new Set(['end_call', 'transfer_call']);

export const endsCall = (tool: string) => ENDING_TOOLS.has(tool);

type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

export function onToolCalled(state: SessionState, event: EventOf<'tool_called'>): SessionStep {
  const { toolCallId, name, arguments: given, atMs } = event;
  if (name === ANSWERING_MACHINE_TOOL) {
    const [next, commands] = handleMachine(state, atMs);
    return [next, [{ type: 'answer_tool', toolCallId, answer: { ok: true, result: 'noted' } }, ...commands]];
  }
  if (given !== null)
    return [countRunningTool(state, atMs), [{ type: 'run_tool', toolCallId, name, arguments: given }]];
  const answer = { ok: false, error: 'the arguments are not a JSON object' } as const;
  return [state, [{ type: 'answer_tool', toolCallId, answer }]];
}

/** After a tool that ends the call, queued audio is still played, and nothing else is said. */
export function onToolFinished(state: SessionState, { endsCall, ok }: EventOf<'tool_finished'>): SessionState {
  const { provider } = state;
  const done = { ...state, provider: { ...provider, runningTools: Math.max(0, provider.runningTools - 1) } };
  return endsCall && ok ? { ...done, closing: state.closing ?? { otherWays: [] } } : done;
}

/**
 * Counts a running tool, if the provider starts replies: such a provider ends a reply before its tools have answered.
 */
function countRunningTool(state: SessionState, atMs: number): SessionState {
  if (!providerStartsReplies(state)) return state;
  const { provider, filler } = state;
  const working = { ...state, provider: { ...provider, runningTools: provider.runningTools + 1 } };
  return filler.dueMs === undefined ? armFiller(working, atMs) : working;
}
