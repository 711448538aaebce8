import { AGENT_ID_PATTERN, type Mode } from '../kernel/ids.js';
import { readPage, type Page, type PagePosition } from '../platform/mongo/pages.js';
import { agentsOf } from './agent-mode.js';
import type { AgentsDatabase } from './database.js';
import type { AgentDocument } from './model.js';

/** Of a page; the rest comes with the next. */
const PAGE_BYTES = 512 * 1_024;
const READ_AT_ONCE = 10;

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
     * page shorter.
     */
    async page(p: {
      accountId: string;
      mode: Mode;
      archived: boolean;
      after?: PagePosition;
      limit: number;
    }): Promise<Page<AgentDocument>> {
      const { accountId, mode, archived, limit, after } = p;
      const filter = { accountId, archivedAt: archived ? { $ne: null } : null, ...agentsOf(mode) };
      const items: AgentDocument[] = [];
      let bytes = 0;
      for (let position = after; ;) {
        const atOnce = Math.min(READ_AT_ONCE, limit - items.length);
        const part = await readPage<AgentDocument>(agents, {
          filter,
          limit: atOnce,
          ...(position ? { after: position } : {}),
        });
        items.push(...part.items);
        bytes += part.items.reduce((sum, item) => sum + JSON.stringify(item).length, 0);
        if (part.next === undefined || items.length >= limit || bytes >= PAGE_BYTES) return { ...part, items };
        position = part.next;
      }
    },
  };
}
