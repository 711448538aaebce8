import { ServiceError } from '../../kernel/errors.js';
import type { Accounts } from '../../identity/accounts/accounts.js';
import type { Agents } from '../../agents/agents.js';
import type { AgentDocument } from '../../agents/model.js';
import type { PhoneNumbers } from '../../agents/numbers/phone-numbers.js';
import type { Forwarder } from '../../identity/access/principal.js';

export interface InboundAgentDeps {
  accounts: Accounts;
  agents: Agents;
  phoneNumbers: PhoneNumbers;
}

/**
 * The agent for an inbound call: the given one, else the inbound agent of the number that the call was forwarded from,
 * or of that number's account. The agent's account pays.
 * @throws ServiceError AGENT_NOT_FOUND if the given agent does not exist, MISSING_PARAMS if there is none
 */
export async function inboundAgent(
  deps: InboundAgentDeps,
  forwarder: Forwarder,
  asked: { agentId: string | undefined; forwardedFrom: string | undefined },
): Promise<AgentDocument> {
  if (asked.agentId !== undefined) {
    const named = await deps.agents.findUsable(asked.agentId, forwarder.mode);
    if (named !== null && isWithinReach(forwarder, named.accountId)) return named;
    throw new ServiceError('AGENT_NOT_FOUND', 'There is no agent with this agent_id.');
  }
  const active = asked.forwardedFrom ? await activeAgentOf(deps, forwarder, asked.forwardedFrom) : undefined;
  if (active) return active;
  throw new ServiceError(
    'MISSING_PARAMS',
    'No agent is resolved: give agent_id, or forward from a number whose account has an active inbound agent.',
  );
}

async function activeAgentOf(
  deps: InboundAgentDeps,
  forwarder: Forwarder,
  forwardedFrom: string,
): Promise<AgentDocument | undefined> {
  const number = await deps.phoneNumbers.find(forwardedFrom);
  if (number === null || !isWithinReach(forwarder, number.accountId)) return undefined;
  const agentId = number.agentId ?? (await deps.accounts.find(number.accountId))?.inboundAgentId;
  const agent = agentId === undefined ? null : await deps.agents.findUsable(agentId, forwarder.mode);
  return agent?.accountId === number.accountId ? agent : undefined;
}

/** An API key may use agents of the account it belongs to only; a request signed by the carrier may use any. */
function isWithinReach(forwarder: Forwarder, accountId: string): boolean {
  return forwarder.account === undefined || forwarder.account._id === accountId;
}
