import { noLiveAgent } from '../kernel/common-errors.js';
import { createAccounts } from '../identity/accounts/accounts.js';
import type { AccountDocument } from '../identity/accounts/model.js';
import { ignoreWrites } from '../platform/mongo/writes.js';
import { LIVE_AGENTS } from './agent-mode.js';
import type { AgentsDatabase } from './database.js';

/** Sets the live agent that answers calls to an account's numbers. */
export function createInboundAgents(database: AgentsDatabase) {
  const accounts = createAccounts(database);
  return {
    /**
     * @param agentId null removes the inbound agent
     * @param onWrite called unless it is this agent already
     * @throws ServiceError AGENT_NOT_FOUND when the account has no such live agent
     */
    async set(accountId: string, agentId: string | null, onWrite = ignoreWrites): Promise<AccountDocument> {
      const named = { _id: agentId, accountId, archivedAt: null, ...LIVE_AGENTS };
      if (agentId !== null && !(await database.agents.exists(named))) {
        throw noLiveAgent(agentId);
      }
      return accounts.storeInboundAgent(accountId, agentId, onWrite);
    },
  };
}
