import { DTMF_PATTERN } from '../audio/dtmf.js';
import type { HttpTool } from '../../agents/model.js';
import { offeredToolSchema } from '../../agents/tool-schema.js';
import type { AgentSnapshot } from '../../agents/agent-snapshot.js';
import type { ToolDefinition } from '../engines/port.js';

const END_CALL: ToolDefinition = {
  name: 'end_call',
  description: 'Ends the call after everything that you have said was played. Say goodbye first.',
  parameters: { type: 'object', properties: {}, additionalProperties: false },
};

const SEND_DTMF: ToolDefinition = {
  name: 'send_dtmf',
  description: 'Presses keys on the phone, for menus that ask for them. A comma waits half a second.',
  parameters: {
    type: 'object',
    properties: {
      digits: { type: 'string', description: 'Up to 32 of 0-9, *, #, A-D and comma.', pattern: DTMF_PATTERN.source },
    },
    required: ['digits'],
    additionalProperties: false,
  },
};

/**
 * The tools that an agent can use in a call: first the built-in ones, then the HTTP tools in the agent's settings.
 * @param isTransferable whether the call may be transferred at all
 */
export function toolDefinitions(
  agent: Pick<AgentSnapshot, 'transferNumbers' | 'tools'>,
  isTransferable: boolean,
): ToolDefinition[] {
  const { tools = [] } = agent;
  const transferNumbers = isTransferable ? (agent.transferNumbers ?? []) : [];
  return [
    END_CALL,
    SEND_DTMF,
    ...(transferNumbers.length === 0 ? [] : [transferCall(transferNumbers)]),
    ...tools.map(definitionOf),
  ];
}

function transferCall(numbers: readonly string[]): ToolDefinition {
  return {
    name: 'transfer_call',
    description:
      'Transfers the other person to one of these numbers after everything that you have said was played. You then leave the call. No other number is possible.',
    parameters: {
      type: 'object',
      properties: { number: { type: 'string', enum: [...numbers], description: 'The number to transfer to.' } },
      required: ['number'],
      additionalProperties: false,
    },
  };
}

function definitionOf({ name, description, parameters }: HttpTool): ToolDefinition {
  return { name, description, parameters: offeredToolSchema(JSON.parse(parameters) as Record<string, unknown>) };
}
