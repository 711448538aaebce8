import type { SessionEvent } from './events.js';
import { armFiller } from './filler.js';
import { startsReplies, type SessionState, type SessionStep } from './state.js';
import { meetMachine } from './voicemail.js';

/** The tool by which the model reports an answering machine; it is not one of the call's tools. */
export const ANSWERING_MACHINE_TOOL = 'answering_machine';

/** After these tools the agent says nothing more. */
const LAST_TOOLS: ReadonlySet<string> = new Set(['end_call', 'transfer_call']);

export const endsCall = (tool: string) => LAST_TOOLS.has(tool);

type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

export function onToolCalled(state: SessionState, event: EventOf<'tool_called'>): SessionStep {
  const { toolCallId, name, arguments: given, atMs } = event;
  if (name === ANSWERING_MACHINE_TOOL) {
    const [met, commands] = meetMachine(state, atMs);
    return [met, [{ type: 'answer_tool', toolCallId, answer: { ok: true, result: 'noted' } }, ...commands]];
  }
  if (given !== null) return [atWork(state, atMs), [{ type: 'run_tool', toolCallId, name, arguments: given }]];
  const answer = { ok: false, error: 'the arguments were no JSON object' } as const;
  return [state, [{ type: 'answer_tool', toolCallId, answer }]];
}

/** After a tool that ends the call, queued audio is still played, and nothing else is said. */
export function onToolFinished(state: SessionState, { endsCall, ok }: EventOf<'tool_finished'>): SessionState {
  const { provider } = state;
  const done = { ...state, provider: { ...provider, toolsAtWork: Math.max(0, provider.toolsAtWork - 1) } };
  return endsCall && ok ? { ...done, closing: state.closing ?? { otherWays: [] } } : done;
}

/** Counts running tools: a provider that starts replies ends a reply before its tools have answered. */
function atWork(state: SessionState, atMs: number): SessionState {
  if (!startsReplies(state)) return state;
  const { provider, filler } = state;
  const working = { ...state, provider: { ...provider, toolsAtWork: provider.toolsAtWork + 1 } };
  return filler.dueMs === undefined ? armFiller(working, atMs) : working;
}
