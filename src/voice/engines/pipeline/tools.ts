import type { EngineCall } from '../port.js';
import { ANSWERING_MACHINE_TOOL, endsCall } from '../../session/reducer/tools.js';
import type { ChatTool } from './ports.js';

/** Whether the model has nothing to add after this tool: the call ends, or the session leaves the voicemail message. */
export function isFinalTool(name: string): boolean {
  return name === ANSWERING_MACHINE_TOOL || endsCall(name);
}

/** The call's tools, plus `answering_machine` if the session hangs up on voicemail or leaves a message. */
export function listChatTools(call: EngineCall): ChatTool[] {
  const given = call.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  if (call.direction === 'inbound' || call.voicemail.action === 'continue') return given;
  return [
    ...given,
    {
      name: ANSWERING_MACHINE_TOOL,
      description:
        'Call this at once, and without saying anything, when a recording, voicemail or an answering machine has ' +
        'answered instead of a person. You do not have to leave a message or hang up: this is done for you.',
      parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
    },
  ];
}
