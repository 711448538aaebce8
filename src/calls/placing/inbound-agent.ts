import { invalidParam } from '../../kernel/invalid-request.js';
import type { Accounts } from '../../identity/accounts/accounts.js';
import { agentNotFound, type Agents } from '../../agents/agents.js';
import type { AgentDocument } from '../../agents/model.js';
import type { PhoneNumbers } from '../../agents/numbers/phone-numbers.js';
import type { Forwarder } from '../../identity/access/principal.js';

export interface InboundAgentDeps {
  accounts: Accounts;
  agents: Agents;
  phoneNumbers: PhoneNumbers;
}

/**
 * Finds the agent for an inbound call: the one named in the request, else the inbound agent of the number that the call
 * was forwarded from, else the inbound agent of that number's account. The agent's account pays.
 * @throws ServiceError AGENT_NOT_FOUND if the named agent does not exist, MISSING_PARAMS if there is none
 */
export async function findInboundAgent(
  deps: InboundAgentDeps,
  forwarder: Forwarder,
  request: { agentId: string | undefined; forwardedFrom: string | undefined },
): Promise<AgentDocument> {
  if (request.agentId !== undefined) {
    const agent = await deps.agents.findUsable(request.agentId, forwarder.mode);
    if (agent !== null && mayUseAccount(forwarder, agent.accountId)) return agent;
    throw agentNotFound();
  }
  const activeAgent = request.forwardedFrom ? await findActiveAgent(deps, forwarder, request.forwardedFrom) : undefined;
  if (activeAgent) return activeAgent;
  throw invalidParam(
    'agent_id',
    'No agent found: give agent_id, or forward from a number whose account has an active inbound agent.',
  );
}

async function findActiveAgent(
  deps: InboundAgentDeps,
  forwarder: Forwarder,
  forwardedFrom: string,
): Promise<AgentDocument | undefined> {
  const number = await deps.phoneNumbers.find(forwardedFrom);
  if (number === null || !mayUseAccount(forwarder, number.accountId)) return undefined;
  const agentId = number.agentId ?? (await deps.accounts.find(number.accountId))?.inboundAgentId;
  const agent = agentId === undefined ? null : await deps.agents.findUsable(agentId, forwarder.mode);
  return agent?.accountId === number.accountId ? agent : undefined;
}

/** An API key may use only agents of its account. A request signed by the carrier may use any agent. */
function mayUseAccount(forwarder: Forwarder, accountId: string): boolean {
  return forwarder.account === undefined || forwarder.account._id === accountId;
}
