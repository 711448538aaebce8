import { ulid } from 'ulid';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { OutboundCallRequest } from './contract.js';
import { TEST_FROM_NUMBER, type Config } from '../../platform/config/config.js';
import { ServiceError } from '../../kernel/errors.js';
import { invalidParam, runChecks } from '../../kernel/invalid-request.js';
import { temporaryAgentId } from '../../kernel/ids.js';
import type { AccountDocument } from '../../identity/accounts/model.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { chooseOrigin, type OwnNumber } from '../../telephony/accounts/choose-account.js';
import { rateTo } from '../../kernel/destinations/rate-deck.js';
import { AGENT_FIELDS } from '../../agents/agent-definition.js';
import { agentNotFound, type Agents } from '../../agents/agents.js';
import type { AgentDocument } from '../../agents/model.js';
import { snapshotOfAgent, type AgentSnapshot } from '../../agents/agent-snapshot.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { PhoneNumbers } from '../../agents/numbers/phone-numbers.js';
import { assertEngineAllowed } from '../../agents/agent-rules.js';
import { assertPromptSize, assertValuesSize } from '../../agents/prompt-size.js';
import type { Principal } from '../../identity/access/principal.js';

export interface OutboundDeps {
  config: Config;
  agents: Agents;
  phoneNumbers: PhoneNumbers;
  dialGate: DialGate;
  logger: Logger;
}

/**
 * Builds the call for a valid request, without id and creation time: a snapshot of the agent, the from number, the
 * limits and the price.
 * @throws ServiceError AGENT_NOT_FOUND, DESTINATION_NOT_ALLOWED, MISSING_PARAMS
 */
export async function createOutboundRequest(
  deps: OutboundDeps,
  principal: Principal,
  request: OutboundCallRequest,
): Promise<Omit<CallRequestDocument, '_id' | 'createdAt'>> {
  const { account, mode } = principal;
  const { config } = deps;
  // Test calls have a fixed from number, so the account's numbers are not read.
  const [conducted, numbers] = await Promise.all([
    createConducted(deps, principal, request),
    mode === 'test' ? [] : deps.phoneNumbers.listOfRequest(account),
  ]);
  const { agent } = conducted;
  const to = request.to_phone_number;
  const fault = await deps.dialGate.findDestinationFault(to, account, mode);
  if (fault !== undefined) throw new ServiceError('DESTINATION_NOT_ALLOWED', fault);
  const { from, carrierAccountId } =
    mode === 'test'
      ? { from: TEST_FROM_NUMBER, carrierAccountId: config.carriers.test.carrierAccountId }
      : originOf(deps, { account, to, numbers, agentNumber: await findAgentNumber(deps, agent, numbers) });
  if (from === to)
    throw invalidParam('to_phone_number', 'to_phone_number must differ from the number that the call comes from.');
  return {
    ...conducted.call,
    direction: 'outbound',
    fromPhoneNumber: from,
    toPhoneNumber: to,
    carrierAccountId,
    microsPerSecond: rateTo(config.calls.rates, to),
  };
}

/** The fields of a request that say how a call is conducted. */
export type ConductedRequest = Pick<
  OutboundCallRequest,
  'agent_id' | 'instruction' | 'webhook_url' | 'external_call_id' | 'input_parameters' | 'output_parameters'
>;

/**
 * Builds the part of a call that does not depend on phone numbers: a snapshot of the agent, the parameters and the
 * limits. Also returns the agent, if there is one.
 * @param useAgent returns the agent of the call; by default the stored one
 * @throws ServiceError AGENT_NOT_FOUND, MISSING_PARAMS
 */
export async function createConducted(
  { config, agents }: Pick<OutboundDeps, 'config' | 'agents'>,
  principal: Principal,
  request: ConductedRequest,
  useAgent: (stored: AgentDocument | undefined) => Promise<AgentDocument | undefined> = async (stored) => stored,
) {
  const { account, mode } = principal;
  const agent = await useAgent(
    request.agent_id === undefined ? undefined : await requireAgent(agents, principal, request.agent_id),
  );
  // A test call whose agent names an engine that is not configured uses the engine of test mode.
  if (mode === 'live') assertEngineAllowed(agent?.engine, config);
  const { instruction } = request;
  runChecks(
    () => {
      if (instruction !== undefined) {
        assertPromptSize('instruction', { ...agent, instruction, tools: agent?.tools ?? [] });
      }
    },
    () =>
      assertValuesSize({
        instruction: instruction ?? agent?.instruction ?? '',
        isOwn: instruction !== undefined,
        inputParameters: request.input_parameters,
        outputParameters: request.output_parameters,
      }),
  );
  const webhookUrl = request.webhook_url ?? agent?.webhookUrl;
  const call = {
    accountId: account._id,
    mode,
    agent: createSnapshot(agent, request, config),
    inputParameters: request.input_parameters ?? '{}',
    externalCallId: request.external_call_id ?? '',
    ...(webhookUrl === undefined ? {} : { webhookUrl }),
    ringTimeoutSeconds: agent?.ringTimeoutSeconds ?? config.calls.ringSeconds,
    maxDurationSeconds: agent?.maxDurationSeconds ?? AGENT_FIELDS.max_duration_seconds.initial,
  };
  return { agent, call };
}

/**
 * Chooses the number and the carrier account of a live call.
 * @throws ServiceError SERVICE_UNAVAILABLE if the customer's pool, or the number's account, is not configured
 */
function originOf(
  { config, logger }: OutboundDeps,
  p: {
    account: AccountDocument;
    to: string;
    numbers: readonly OwnNumber[];
    agentNumber: OwnNumber | undefined;
  },
): { from: string; carrierAccountId: string } {
  const { _id: accountId, carrierPool: pool } = p.account;
  const origin = chooseOrigin(config.carriers, { ...p, pool, seed: ulid() });
  if ('account' in origin) return { from: origin.from, carrierAccountId: origin.account.carrierAccountId };
  logger.error(
    { accountId, ...origin, remedy: 'Add it to CARRIER_ACCOUNTS_FILE, or assign another one.' },
    'call rejected: its carrier account or pool is not configured',
  );
  throw new ServiceError(
    'SERVICE_UNAVAILABLE',
    'Calls of this account cannot be placed at the moment. Ask the operator of this service.',
  );
}

/**
 * Returns the number that the agent calls from; undefined if it has none. The number must belong to the account, because
 * the account may have released it to another one.
 * @throws ServiceError MISSING_PARAMS
 */
async function findAgentNumber(
  { phoneNumbers }: Pick<OutboundDeps, 'phoneNumbers'>,
  agent: AgentDocument | undefined,
  numbers: readonly OwnNumber[],
): Promise<OwnNumber | undefined> {
  const wanted = agent?.phoneNumber;
  if (agent === undefined || wanted === undefined) return undefined;
  const isWanted = ({ _id }: OwnNumber) => _id === wanted;
  // The account may have got the number within the last second.
  const own = numbers.find(isWanted) ?? (await phoneNumbers.list(agent.accountId)).find(isWanted);
  if (own !== undefined) return own;
  const message =
    'agent_id: the phone_number of this agent no longer belongs to the account. Assign another number to the agent.';
  throw invalidParam('agent_id', message);
}

/** @throws ServiceError AGENT_NOT_FOUND, also for an agent of another account, or a test agent in live mode */
async function requireAgent(agents: Agents, { account, mode }: Principal, agentId: string): Promise<AgentDocument> {
  const agent = await agents.findUsable(agentId, mode);
  if (agent === null || agent.accountId !== account._id) {
    throw agentNotFound();
  }
  return agent;
}

function createSnapshot(agent: AgentDocument | undefined, request: ConductedRequest, config: Config): AgentSnapshot {
  const base: AgentSnapshot = agent
    ? snapshotOfAgent(agent)
    : {
        agentId: temporaryAgentId(ulid()),
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
