import { ulid } from 'ulid';
import { ServiceError } from '../kernel/errors.js';
import { AGENT_ID_PATTERN, type Mode } from '../kernel/ids.js';
import { createPlansLoader } from '../platform/numbering/national-plans.js';
import { updateOf } from '../identity/accounts/accounts.js';
import { checkAgentFields, type AgentFields } from './agent-fields.js';
import { agentsOf } from './agent-mode.js';
import { refuseUndialable, refuseUnsafeTools, refuseUnspeakable, type AgentPolicy } from './agent-rules.js';
import type { AgentsDatabase } from './database.js';
import type { AgentDocument, ConversationSettings, HttpTool } from './model.js';
import { readPage, type Page, type PagePosition } from '../platform/mongo/pages.js';
import { createSecretBox } from '../platform/secrets/secret-box.js';
import { storedTools, type GivenTool } from './tool-headers.js';

/** Each holds up to 180 kB. */
const MOST_AGENTS = 1_000;
/** Of a page; the rest comes with the next. */
const PAGE_BYTES = 512 * 1_024;
const READ_AT_ONCE = 10;

const DEFAULT_MAX_DURATION_SECONDS = 600;
const DEFAULT_RING_TIMEOUT_SECONDS = 30;

/** A new agent; its mode defaults to live, durations to 600 s of talk and 30 s of ringing. */
export type NewAgent = Pick<AgentFields, 'name' | 'instruction' | 'voice' | 'language'> &
  Partial<Omit<AgentFields, 'tools'>> & { tools?: GivenTool[]; accountId: string; agentId?: string; mode?: Mode };

type Optional = 'outputParameters' | 'webhookUrl' | 'phoneNumber' | keyof ConversationSettings;

/** Changes of an agent; null removes an optional field, an absent field stays as it is. */
export type AgentChanges = Partial<Omit<AgentFields, Optional>> & {
  [name in Exclude<Optional, 'tools'>]?: AgentFields[name] | null;
} & { tools?: GivenTool[] | null };

/** Together they must fit. */
const SPOKEN = ['voice', 'language', 'engine'] as const;

export type Agents = ReturnType<typeof createAgents>;

/**
 * Agents of accounts. Expected refusals are ServiceErrors: MISSING_PARAMS for a bad field, AGENT_NOT_FOUND.
 * @param policy what this service can do; where agents are created or changed for customers it must be given
 */
export function createAgents(database: AgentsDatabase, policy?: AgentPolicy) {
  const { agents } = database;
  const loadPlans = createPlansLoader();
  const box = policy && createSecretBox(policy.encryptionKeys);

  async function findOne(filter: { _id: string } & Record<string, unknown>): Promise<AgentDocument | null> {
    if (typeof filter._id !== 'string' || !AGENT_ID_PATTERN.test(filter._id)) return null;
    return agents.findOne(filter).lean<AgentDocument>();
  }

  async function checkNumber(accountId: string, number: string | null | undefined): Promise<void> {
    if (number === null || number === undefined) return;
    if (await database.phoneNumbers.exists({ _id: number, accountId })) return;
    throw new ServiceError('MISSING_PARAMS', 'phone_number must be a number of this account.');
  }

  return {
    async create(p: NewAgent): Promise<AgentDocument> {
      const { accountId, agentId, mode = 'live', ...given } = p;
      const fields = checkAgentFields({
        maxDurationSeconds: DEFAULT_MAX_DURATION_SECONDS,
        ringTimeoutSeconds: DEFAULT_RING_TIMEOUT_SECONDS,
        ...given,
        ...withStoredTools(given.tools, { present: [], accountId, box }),
      });
      refuseUnspeakable(fields, policy);
      if (policy !== undefined) refuseUnsafeTools(fields.tools, policy);
      if (fields.transferNumbers) refuseUndialable(fields.transferNumbers, await loadPlans());
      if (!(await database.accounts.exists({ _id: accountId }))) {
        throw new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
      }
      await checkNumber(accountId, fields.phoneNumber);
      if ((await agents.countDocuments({ accountId })) >= MOST_AGENTS) {
        throw new ServiceError('CONFLICT', `An account has at most ${MOST_AGENTS} agents, archived ones included.`);
      }
      const createdAt = new Date();
      const agent: AgentDocument = {
        _id: agentId ?? `agent_${ulid()}`,
        accountId,
        mode,
        ...fields,
        createdAt,
        updatedAt: createdAt,
      };
      await agents.create([agent]);
      return agent;
    },

    /** An agent of either mode that is not archived. */
    async find(agentId: string): Promise<AgentDocument | null> {
      return findOne({ _id: agentId, archivedAt: null });
    },

    /** An agent that is not archived and that calls of the mode may use. */
    async findUsable(agentId: string, mode: Mode): Promise<AgentDocument | null> {
      return findOne({ _id: agentId, archivedAt: null, ...agentsOf(mode) });
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

    /** An agent of the account that calls of the mode may use, also an archived one. */
    async findOf(p: { accountId: string; mode: Mode; agentId: string }): Promise<AgentDocument | null> {
      return findOne({ _id: p.agentId, accountId: p.accountId, ...agentsOf(p.mode) });
    },

    /**
     * Takes an agent out of use; the first time of archiving stays.
     * @throws ServiceError CONFLICT while it takes the calls of a number or of the account, AGENT_NOT_FOUND
     */
    async archive(accountId: string, agentId: string): Promise<AgentDocument> {
      const [ofAccount, ofNumber] = await Promise.all([
        database.accounts.exists({ _id: accountId, inboundAgentId: agentId }),
        database.phoneNumbers.exists({ accountId, agentId }),
      ]);
      if (ofAccount) throw new ServiceError('CONFLICT', 'This agent takes the account’s inbound calls.');
      if (ofNumber) throw new ServiceError('CONFLICT', 'This agent takes the calls of a phone number.');
      await agents.updateOne({ _id: agentId, accountId, archivedAt: null }, { $set: { archivedAt: new Date() } });
      const agent = await findOne({ _id: agentId, accountId });
      if (!agent) throw new ServiceError('AGENT_NOT_FOUND', 'There is no agent with this agent_id.');
      return agent;
    },

    /** Changes an agent; calls that run keep the agent as it was when they were asked for. */
    async update(agentId: string, changes: AgentChanges): Promise<AgentDocument> {
      const present = await this.find(agentId);
      if (!present) throw new ServiceError('AGENT_NOT_FOUND', `There is no agent ${agentId}.`);
      const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
      const { accountId, tools = [] } = present;
      Object.assign(given, withStoredTools(changes.tools, { present: tools, accountId, box }));
      const checked = checkAgentFields({ ...present, ...withoutNull(given) });
      // An agent from before a voice or an engine was withdrawn can still be changed in everything else.
      const wanted = { ...present, ...given };
      if (SPOKEN.some((field) => (wanted[field] ?? undefined) !== present[field])) {
        refuseUnspeakable({ ...checked, engine: given['engine'] === null ? undefined : checked.engine }, policy);
      }
      if (policy !== undefined && changes.tools) refuseUnsafeTools(checked.tools, policy);
      if (changes.transferNumbers) refuseUndialable(changes.transferNumbers, await loadPlans());
      await checkNumber(present.accountId, changes.phoneNumber);
      const update = Object.fromEntries(
        Object.entries(given).map(([name, value]) => [
          name,
          value === null ? null : checked[name as keyof AgentFields],
        ]),
      );
      const changed = await agents
        .findOneAndUpdate({ _id: agentId }, updateOf({ ...update, updatedAt: new Date() }), { returnDocument: 'after' })
        .lean<AgentDocument>();
      return changed ?? present;
    },
  };
}

function withStoredTools(
  tools: readonly GivenTool[] | null | undefined,
  p: Omit<Parameters<typeof storedTools>[0], 'tools'>,
): { tools?: HttpTool[] } {
  return tools ? { tools: storedTools({ tools, ...p }) } : {};
}

function withoutNull(values: Record<string, unknown>): Partial<AgentFields> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}
