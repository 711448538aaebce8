import { conversationSettingsOf } from '../../agents/fields/settings-rules.js';
import type { StreamedCall } from '../call-reader.js';
import type { EngineCall } from '../engines/port.js';
import { toolDefinitions } from '../tools/definitions.js';

/**
 * Builds the engine's description of a call. Parameters were validated when the call was created. If one is not a JSON
 * object anyway, it counts as empty.
 * @param isTransferable whether the call may be transferred at all
 * @param canType whether the caller can type words
 */
export function buildEngineCall(request: StreamedCall, isTransferable: boolean, canType = false): EngineCall {
  const { agent, accountId, mode } = request;
  return {
    callId: request._id,
    requestOwner: { accountId, callId: request._id, mode },
    instruction: agent.instruction,
    voice: agent.voice,
    language: agent.language,
    inputParameters: objectIn(request.inputParameters),
    outputTemplate: scalarsOf(objectIn(agent.outputParameters ?? '{}')),
    direction: request.direction,
    canType,
    ...(agent.name === undefined ? {} : { agentName: agent.name }),
    disclosesAi: agent.aiDisclosure ?? true,
    voicemail: {
      action: agent.voicemailAction ?? 'hang_up',
      ...(agent.voicemailMessage === undefined ? {} : { message: agent.voicemailMessage }),
    },
    tools: toolDefinitions(agent, isTransferable),
    settings: conversationSettingsOf(agent),
  };
}

function objectIn(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

function scalarsOf(template: Record<string, unknown>): EngineCall['outputTemplate'] {
  const entries = Object.entries(template).map(([key, value]) => [key, isScalar(value) ? value : null] as const);
  return Object.fromEntries(entries);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
