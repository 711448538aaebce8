import { ulid } from 'ulid';
import type { AccountDocument } from '../identity/accounts/model.js';
import { accountNotFound, limitReached } from '../kernel/common-errors.js';
import { ServiceError } from '../kernel/errors.js';
import { temporaryAgentId, type Mode } from '../kernel/ids.js';
import { engineConfigOf } from '../platform/config/config.js';
import { madeIn, modeOfAgent } from './agent-mode.js';
import { createAgentUpdate } from './fields/agent-update.js';
import { engineOf } from './fields/settings-rules.js';
import type { ProviderChecks, Warn } from './fields/provider-ids.js';
import { snapshotOfAgent } from './agent-snapshot.js';
import { createAgentQueries } from './agent-queries.js';
import type { AgentPolicy } from './agent-rules.js';
import { createUsableCheck } from './fields/usable-check.js';
import { createWholeAgentCheck, type GivenFields } from './fields/whole-agent-check.js';
import type { AgentsDatabase } from './database.js';
import type { AgentDocument } from './model.js';

const MAX_AGENTS = 1_000;
const MAX_AGENTS_UNVERIFIED = 20;

/** A new agent. The mode defaults to live. */
export type NewAgent = GivenFields & { accountId: string; agentId?: string; mode?: Mode };

export type Draft = GivenFields & { accountId: string; mode: Mode; of: AgentDocument | undefined };

export type Agents = ReturnType<typeof createAgents>;

/**
 * Creates, changes and archives agents. Expected errors are ServiceErrors: MISSING_PARAMS for an invalid field,
 * AGENT_NOT_FOUND.
 * @param policy capabilities of this service; required wherever agents are created or changed for customers
 * @param checks ask the providers about models and voices, and look for prompts that they may reject; required there, too
 */
export function createAgents(database: AgentsDatabase, policy?: AgentPolicy, checks?: ProviderChecks) {
  const { agents } = database;
  const queries = createAgentQueries(database);
  const usable = createUsableCheck(database, policy);
  const checkWhole = createWholeAgentCheck({ usable, policy, checkIds: checks?.ids });
  const policyOf = (mode: Mode) => policy && engineConfigOf(policy, mode);
  const checkPrompt = createPromptCheck(policyOf, checks);

  /**
   * Deletes archived agents, those archived earliest first, until the account has room for one more agent. Calls have
   * their own copies of their agents, so they are not affected.
   * @throws ServiceError CONFLICT if the account has too many agents that are not archived
   */
  async function makeRoom(
    { accountId, mode }: { accountId: string; mode: Mode },
    { unverified, inboundAgentId }: OwnerAccount,
  ): Promise<void> {
    // Count each mode separately, so that one mode cannot use up the other's limit.
    const counted = { accountId, ...(unverified ? {} : madeIn(mode)) };
    const excess = (await agents.countDocuments(counted)) - (unverified ? MAX_AGENTS_UNVERIFIED : MAX_AGENTS) + 1;
    if (excess <= 0) return;
    const named = await database.phoneNumbers.find({ accountId }, { agentId: 1 }).lean<{ agentId?: string }[]>();
    const inUse = [inboundAgentId, ...named.map(({ agentId }) => agentId)].filter((id) => id !== undefined);
    const spare = { ...counted, archivedAt: { $ne: null }, _id: { $nin: inUse } };
    const first = agents.find(spare, { _id: 1 }).sort({ archivedAt: 1, _id: 1 }).limit(excess);
    const ids = (await first.lean<{ _id: string }[]>()).map(({ _id }) => _id);
    if (ids.length < excess) throw tooMany(unverified);
    await agents.deleteMany({ ...spare, _id: { $in: ids } });
  }

  return {
    ...queries,

    /** @param warn receives what the person who saves the agent should know, although it is saved */
    async create(
      { accountId, agentId, mode = 'live', ...wanted }: NewAgent,
      warn: Warn = ignored,
    ): Promise<AgentDocument> {
      const account = await findAccount(database, accountId);
      const stored = await checkWhole(wanted, { accountId, mode, warn });
      await makeRoom({ accountId, mode }, account);
      const at = new Date();
      const _id = agentId ?? `agent_${ulid()}`;
      const agent: AgentDocument = { _id, accountId, mode, ...stored, createdAt: at, updatedAt: at };
      await agents.create([agent]);
      checkPrompt(agent, warn);
      return agent;
    },

    /**
     * Checks an agent that a call uses without storing it, by the rules of a new agent or of a change.
     * @param p.mode the mode of the call
     * @param p.of the stored agent that this is a draft of. The draft has its mode, which may be live although the call
     *   is a test call, and its tools keep their secret headers as after a change
     */
    async draft({ accountId, mode: ofCall, of, ...wanted }: Draft): Promise<AgentDocument> {
      const mode = of ? modeOfAgent(of) : ofCall;
      const stored = await checkWhole(wanted, { accountId, mode, present: of, warn: ignored });
      const at = new Date();
      return { _id: of?._id ?? temporaryAgentId(ulid()), accountId, mode, ...stored, createdAt: at, updatedAt: at };
    },

    /**
     * Archives an agent. Archiving it again keeps the original time.
     * @throws ServiceError AGENT_NOT_FOUND; CONFLICT while the agent is set to answer inbound calls of a number or of
     * the account
     */
    async archive(accountId: string, agentId: string): Promise<AgentDocument> {
      const [ofAccount, ofNumber] = await Promise.all([
        database.accounts.exists({ _id: accountId, inboundAgentId: agentId }),
        database.phoneNumbers.exists({ accountId, agentId }),
      ]);
      if (ofAccount) throw inUse('This is the inbound agent of the account. Set another inbound agent first.');
      if (ofNumber) throw inUse('This agent answers one of your phone numbers. Assign another agent to it first.');
      await agents.updateOne({ _id: agentId, accountId, archivedAt: null }, { $set: { archivedAt: new Date() } });
      const agent = await queries.findOf({ accountId, agentId });
      if (!agent) throw agentNotFound();
      return agent;
    },

    update: createAgentUpdate({ agents, find: (id) => queries.find(id), usable, policyOf, checks, checkPrompt }),
  };
}

const ignored: Warn = () => undefined;

function createPromptCheck(policyOf: (mode: Mode) => AgentPolicy | undefined, checks: ProviderChecks | undefined) {
  return (agent: AgentDocument, warn: Warn): void => {
    const engine = engineOf(agent, policyOf(modeOfAgent(agent)));
    if (engine !== undefined) checks?.prompt({ engine, agent: snapshotOfAgent(agent), warn });
  };
}

type OwnerAccount = Pick<AccountDocument, 'unverified' | 'inboundAgentId'>;

/** @throws ServiceError if there is no such account */
async function findAccount({ accounts }: AgentsDatabase, accountId: string): Promise<OwnerAccount> {
  const account = await accounts.findById(accountId, { unverified: 1, inboundAgentId: 1 }).lean<OwnerAccount>();
  if (!account) throw accountNotFound(accountId);
  return account;
}

function inUse(message: string): ServiceError {
  return new ServiceError('CONFLICT', message);
}

function tooMany(unverified: true | undefined): ServiceError {
  const limit = unverified
    ? { most: MAX_AGENTS_UNVERIFIED, items: 'agents until its owner has verified their e-mail address' }
    : { most: MAX_AGENTS, items: 'agents per mode' };
  return new ServiceError('CONFLICT', limitReached({ of: 'An account', ...limit, remedy: 'Archive an agent first.' }));
}

/** The error for a request whose agent does not exist or belongs to another account. */
export function agentNotFound(): ServiceError {
  return new ServiceError('AGENT_NOT_FOUND', 'There is no agent with this agent_id.');
}
