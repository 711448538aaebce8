import type { EngineCall } from '../port.js';
import type { ChatTool, ToolRequest } from './ports.js';

/** The engine's own: the model tells that no person is on the line. */
export const ANSWERING_MACHINE = 'answering_machine';

/** After these nothing is said any more. */
const LAST_TOOLS: ReadonlySet<string> = new Set(['end_call', 'transfer_call', ANSWERING_MACHINE]);

export function isLastTool(name: string): boolean {
  return LAST_TOOLS.has(name);
}

/** The call's tools, and the one by which the model tells of an answering machine where something is to be done then. */
export function toolsFor(call: EngineCall): ChatTool[] {
  const given = call.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  if (call.direction === 'inbound' || call.voicemail.action === 'continue') return given;
  return [
    ...given,
    {
      name: ANSWERING_MACHINE,
      description:
        'Call this at once, and without saying anything, when a recording, a mailbox or an answering machine has ' +
        'answered instead of a person. What is to be done then, be it to leave a message or to hang up, is done for you.',
      parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
    },
  ];
}

/** What the model wrote as arguments; undefined when that is no object. */
export function argumentsOf(request: ToolRequest): Record<string, unknown> | undefined {
  if (request.arguments.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(request.arguments);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
