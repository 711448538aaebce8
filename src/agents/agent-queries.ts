import { AGENT_ID_PATTERN, type Mode } from '../kernel/ids.js';
import { readPage, type Page, type PagePosition } from '../platform/mongo/pages.js';
import { driverCollection } from '../platform/mongo/driver-collection.js';
import { agentsOf } from './agent-mode.js';
import type { AgentsDatabase } from './database.js';
import type { AgentDocument, ListedAgent } from './model.js';

/** Maximum characters of agents on one page, which take a few ms to send. The remaining agents follow on the next page. */
const PAGE_CHARACTERS = 128 * 1_024;

export function createAgentQueries(database: Pick<AgentsDatabase, 'agents' | 'connection'>) {
  const { agents } = database;
  const documents = driverCollection<AgentDocument>(database, agents);

  async function findOne(filter: { _id: string } & Record<string, unknown>): Promise<AgentDocument | null> {
    if (typeof filter._id !== 'string' || !AGENT_ID_PATTERN.test(filter._id)) return null;
    return documents.findOne(filter as { _id: string });
  }

  return {
    /** Finds an agent of either mode that is not archived. */
    async find(agentId: string): Promise<AgentDocument | null> {
      return findOne({ _id: agentId, archivedAt: null });
    },

    /** Finds an agent that calls of the mode may use and that is not archived. */
    async findUsable(agentId: string, mode: Mode): Promise<AgentDocument | null> {
      return findOne({ _id: agentId, archivedAt: null, ...agentsOf(mode) });
    },

    /** Finds an agent of the account, even if archived; with `mode`, only one that calls of the mode may use. */
    async findOf(p: { accountId: string; mode?: Mode; agentId: string }): Promise<AgentDocument | null> {
      return findOne({ _id: p.agentId, accountId: p.accountId, ...(p.mode ? agentsOf(p.mode) : {}) });
    },

    list(accountId: string): Promise<AgentDocument[]> {
      return agents.find({ accountId, archivedAt: null }).sort({ createdAt: 1, _id: 1 }).lean<AgentDocument[]>().exec();
    },

    /**
     * Reads one page of agents, newest first: those that calls of the mode may use, either archived or not. A page has
     * fewer agents if they are large. Tool headers have names but no values.
     * @param p.signal aborts the query
     */
    async page(p: {
      accountId: string;
      mode: Mode;
      archived: boolean;
      after?: PagePosition;
      limit: number;
      signal?: AbortSignal;
    }): Promise<Page<ListedAgent>> {
      const { accountId, mode, archived, ...position } = p;
      const filter = { accountId, archivedAt: archived ? { $ne: null } : null, ...agentsOf(mode) };
      const fields = { 'tools.headers.sealed': 0 } as const;
      return readPage<ListedAgent>(agents, { filter, fields, mostCharacters: PAGE_CHARACTERS, ...position });
    },
  };
}
