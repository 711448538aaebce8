import { ulid } from 'ulid';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { OutboundCallRequest } from './contract.js';
import { TEST_FROM_NUMBER, type Config } from '../../platform/config/config.js';
import { ServiceError } from '../../kernel/errors.js';
import { rateTo } from '../../kernel/rate-deck.js';
import { AGENT_FIELDS } from '../../agents/agent-definition.js';
import type { Agents } from '../../agents/agents.js';
import type { AgentDocument } from '../../agents/model.js';
import { snapshotOfAgent, type AgentSnapshot } from '../../agents/agent-snapshot.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { PhoneNumbers } from '../../agents/numbers/phone-numbers.js';
import { refuseEngine } from '../../agents/agent-rules.js';
import { refuseLongPrompt, refuseLongValues } from '../../agents/prompt-size.js';
import type { Principal } from '../../identity/access/principal.js';

export interface OutboundDeps {
  config: Config;
  agents: Agents;
  phoneNumbers: PhoneNumbers;
  dialGate: DialGate;
}

/**
 * The call of a valid request, without id and creation time: a snapshot of the agent, the from number, the limits and
 * the price.
 * @throws ServiceError AGENT_NOT_FOUND, DESTINATION_NOT_ALLOWED, MISSING_PARAMS
 */
export async function outboundCallOf(
  deps: OutboundDeps,
  principal: Principal,
  request: OutboundCallRequest,
): Promise<Omit<CallRequestDocument, '_id' | 'createdAt'>> {
  const { account, mode } = principal;
  const { config } = deps;
  // In test mode the from number is fixed.
  const [agent, numbers] = await Promise.all([
    request.agent_id === undefined ? undefined : agentOf(deps.agents, principal, request.agent_id),
    mode === 'test' ? [] : deps.phoneNumbers.list(account._id),
  ]);
  // In test mode the agent's engine is not used.
  if (mode === 'live') refuseEngine(agent?.engine, config);
  if (request.instruction !== undefined) {
    refuseLongPrompt('instruction', { instruction: request.instruction, tools: agent?.tools ?? [] });
  }
  refuseLongValues({
    instruction: request.instruction ?? agent?.instruction ?? '',
    isOwn: request.instruction !== undefined,
    inputParameters: request.input_parameters,
    outputParameters: request.output_parameters,
  });
  const to = request.to_phone_number;
  const fault = await deps.dialGate.fault(to, account, mode);
  if (fault !== undefined) throw new ServiceError('DESTINATION_NOT_ALLOWED', fault);
  const from = mode === 'test' ? TEST_FROM_NUMBER : (ownNumberOf(agent, numbers) ?? config.carriers[mode].fromNumber);
  if (from === to) throw new ServiceError('MISSING_PARAMS', 'to_phone_number is the number the call comes from.');
  const webhookUrl = request.webhook_url ?? agent?.webhookUrl;
  return {
    accountId: account._id,
    mode,
    direction: 'outbound',
    fromPhoneNumber: from,
    toPhoneNumber: to,
    agent: snapshotOf(agent, request, config),
    inputParameters: request.input_parameters ?? '{}',
    externalCallId: request.external_call_id ?? '',
    ...(webhookUrl === undefined ? {} : { webhookUrl }),
    ringTimeoutSeconds: agent?.ringTimeoutSeconds ?? config.calls.ringSeconds,
    maxDurationSeconds: agent?.maxDurationSeconds ?? AGENT_FIELDS.max_duration_seconds.initial,
    microsPerSecond: rateTo(config.calls.rates, to),
  };
}

/**
 * The from number of an account's call: the agent's, else the account's first; undefined if the account has none. The
 * agent's number is checked, because the account may have released it and another account may own it now.
 * @throws ServiceError MISSING_PARAMS
 */
function ownNumberOf(agent: AgentDocument | undefined, numbers: readonly { _id: string }[]): string | undefined {
  const wanted = agent?.phoneNumber;
  if (wanted === undefined) return numbers[0]?._id;
  if (numbers.some(({ _id }) => _id === wanted)) return wanted;
  const message =
    'agent_id: the phone_number of this agent is no number of the account any more. Give the agent another.';
  throw new ServiceError('MISSING_PARAMS', message);
}

/** @throws ServiceError AGENT_NOT_FOUND, also for another account's agent, or a test agent in live mode */
async function agentOf(agents: Agents, { account, mode }: Principal, agentId: string): Promise<AgentDocument> {
  const agent = await agents.findUsable(agentId, mode);
  if (agent === null || agent.accountId !== account._id) {
    throw new ServiceError('AGENT_NOT_FOUND', 'There is no agent with this agent_id.');
  }
  return agent;
}

function snapshotOf(agent: AgentDocument | undefined, request: OutboundCallRequest, config: Config): AgentSnapshot {
  const base: AgentSnapshot = agent
    ? snapshotOfAgent(agent)
    : {
        agentId: `agent_tmp_${ulid()}`,
        instruction: '',
        voice: config.calls.defaultVoice,
        language: config.calls.defaultLanguage,
      };
  return {
    ...base,
    ...(request.instruction === undefined ? {} : { instruction: request.instruction }),
    ...(request.output_parameters === undefined ? {} : { outputParameters: request.output_parameters }),
  };
}
