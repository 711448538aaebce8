import type { SessionEvent } from './events.js';
import type { SessionState, SessionStep } from './state.js';
import { meetMachine } from './voicemail.js';

/** The model's own report that no person is on the line; it is not one of the call's tools. */
export const ANSWERING_MACHINE_TOOL = 'answering_machine';

type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

export function onToolCalled(state: SessionState, event: EventOf<'tool_called'>): SessionStep {
  const { toolCallId, name, arguments: given, atMs } = event;
  if (name === ANSWERING_MACHINE_TOOL) {
    const [met, commands] = meetMachine(state, atMs);
    return [met, [{ type: 'answer_tool', toolCallId, answer: { ok: true, result: 'noted' } }, ...commands]];
  }
  if (given !== null) return [state, [{ type: 'run_tool', toolCallId, name, arguments: given }]];
  const answer = { ok: false, error: 'the arguments were no JSON object' } as const;
  return [state, [{ type: 'answer_tool', toolCallId, answer }]];
}

/** A tool that ends the call has done so: what is queued is heard, and nothing else is said. */
export function onToolFinished(state: SessionState, { endsCall, ok }: EventOf<'tool_finished'>): SessionState {
  return endsCall && ok ? { ...state, closing: state.closing ?? { otherWays: [] } } : state;
}
