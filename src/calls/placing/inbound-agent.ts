import { invalidParam } from '../../kernel/invalid-request.js';
import type { Accounts } from '../../identity/accounts/accounts.js';
import { agentNotFound, type Agents } from '../../agents/agents.js';
import type { AgentDocument } from '../../agents/model.js';
import type { PhoneNumbers } from '../../agents/numbers/phone-numbers.js';
import type { Config } from '../../platform/config/config.js';
import { findOfAccount } from '../../telephony/accounts/account-of-call.js';
import type { InboundCall } from '../../telephony/callbacks.js';

export interface InboundAgentDeps {
  config: Config;
  accounts: Accounts;
  agents: Agents;
  phoneNumbers: PhoneNumbers;
}

type Received = Pick<InboundCall, 'forwarder' | 'mode' | 'carrier' | 'agentId' | 'forwardedFrom'>;

/**
 * Finds the agent for an inbound call: the one named in the request, else the inbound agent of the number that the call
 * was forwarded from, else the inbound agent of that number's account. The agent's account pays.
 * @throws ServiceError AGENT_NOT_FOUND if the named agent does not exist, MISSING_PARAMS if there is none
 */
export async function findInboundAgent(deps: InboundAgentDeps, call: Received): Promise<AgentDocument> {
  if (call.agentId !== undefined) {
    const agent = await deps.agents.findUsable(call.agentId, call.mode);
    if (agent !== null && mayUseAccount(deps, call, agent.accountId)) return agent;
    throw agentNotFound();
  }
  const activeAgent = call.forwardedFrom ? await findActiveAgent(deps, call, call.forwardedFrom) : undefined;
  if (activeAgent) return activeAgent;
  throw invalidParam(
    'agent_id',
    'No agent found: give agent_id, or forward from a number whose account has an active inbound agent.',
  );
}

async function findActiveAgent(
  deps: InboundAgentDeps,
  call: Received,
  forwardedFrom: string,
): Promise<AgentDocument | undefined> {
  const number = await deps.phoneNumbers.find(forwardedFrom);
  if (number === null || !mayUseAccount(deps, call, number.accountId)) return undefined;
  const agentId = number.agentId ?? (await deps.accounts.find(number.accountId))?.inboundAgentId;
  const agent = agentId === undefined ? null : await deps.agents.findUsable(agentId, call.mode);
  return agent?.accountId === number.accountId ? agent : undefined;
}

/**
 * An API key may use only agents of its account. A request that a carrier account signed may use any agent, or those of the
 * account's customers.
 */
function mayUseAccount(
  { config }: InboundAgentDeps,
  { forwarder, mode, carrier }: Received,
  accountId: string,
): boolean {
  if (forwarder.account !== undefined) return forwarder.account._id === accountId;
  const signer = { mode, carrierAccountId: carrier.account?.id };
  const customers = findOfAccount(config.carriers, signer, (each) => each.carrierAccountId)?.customers;
  return customers === undefined || customers.includes(accountId);
}
