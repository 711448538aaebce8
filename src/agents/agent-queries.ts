import { AGENT_ID_PATTERN, type Mode } from '../kernel/ids.js';
import { readPage, type Page, type PagePosition } from '../platform/mongo/pages.js';
import { agentsOf } from './agent-mode.js';
import type { AgentsDatabase } from './database.js';
import type { AgentDocument, ListedAgent } from './model.js';

/** Of a page; the rest comes with the next. */
const PAGE_CHARACTERS = 512 * 1_024;

/** Reads agents. */
export function createAgentQueries({ agents }: Pick<AgentsDatabase, 'agents'>) {
  async function findOne(filter: { _id: string } & Record<string, unknown>): Promise<AgentDocument | null> {
    if (typeof filter._id !== 'string' || !AGENT_ID_PATTERN.test(filter._id)) return null;
    return agents.findOne(filter).lean<AgentDocument>();
  }

  return {
    /** An agent of either mode that is not archived. */
    async find(agentId: string): Promise<AgentDocument | null> {
      return findOne({ _id: agentId, archivedAt: null });
    },

    /** An agent that is not archived and that calls of the mode may use. */
    async findUsable(agentId: string, mode: Mode): Promise<AgentDocument | null> {
      return findOne({ _id: agentId, archivedAt: null, ...agentsOf(mode) });
    },

    /** An agent of the account that calls of the mode, or of either, may use, also an archived one. */
    async findOf(p: { accountId: string; mode?: Mode; agentId: string }): Promise<AgentDocument | null> {
      return findOne({ _id: p.agentId, accountId: p.accountId, ...(p.mode ? agentsOf(p.mode) : {}) });
    },

    list(accountId: string): Promise<AgentDocument[]> {
      return agents.find({ accountId, archivedAt: null }).sort({ createdAt: 1, _id: 1 }).lean<AgentDocument[]>().exec();
    },

    /**
     * One page, newest first: of those in use that calls of the mode may use, or of the archived ones. Large agents make a
     * page shorter. Headers of tools have their names only.
     * @param p.signal ends the reading
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
