import { ulid } from 'ulid';
import { updateOf } from '../identity/accounts/accounts.js';
import type { AccountDocument } from '../identity/accounts/model.js';
import { accountNotFound, limitReached } from '../kernel/common-errors.js';
import { ServiceError } from '../kernel/errors.js';
import type { Mode } from '../kernel/ids.js';
import { engineConfigOf } from '../platform/config/config.js';
import { CONFLICT, retryOnConflict } from '../platform/mongo/optimistic-update.js';
import { AGENT_FIELDS, type AgentFields } from './agent-definition.js';
import { madeIn, modeOfAgent } from './agent-mode.js';
import { checkAgentChanges, checkAgentFields, type AgentChanges } from './agent-fields.js';
import { assertIdsKnown, assertSettingsSupported } from './fields/settings-rules.js';
import type { CheckProviderIds } from './fields/provider-ids.js';
import { createAgentQueries } from './agent-queries.js';
import { assertAgentSize, assertVoiceFits, type AgentPolicy } from './agent-rules.js';
import { createUsableCheck } from './fields/usable-check.js';
import type { AgentsDatabase } from './database.js';
import type { AgentDocument } from './model.js';
import { assertPromptSize, assertTemplateSize } from './prompt-size.js';

const MAX_AGENTS = 1_000;
const MAX_AGENTS_UNVERIFIED = 20;

type FilledByService = 'maxDurationSeconds' | 'ringTimeoutSeconds';

/** A new agent. The mode defaults to live, the maximum duration to 600 s and the ring timeout to 30 s. */
export type NewAgent = Omit<AgentFields, FilledByService> &
  Partial<Pick<AgentFields, FilledByService>> & { accountId: string; agentId?: string; mode?: Mode };

/** A change of one of these fields is checked together with the other two. */
const SPOKEN = ['voice', 'language', 'engine'] as const;

/** The fields that the LLM reads. If several change and are too long together, the first one is named in the error. */
const PROMPTED = ['tools', 'instruction', 'first_message', 'pronunciations'] as const;

export type Agents = ReturnType<typeof createAgents>;

/**
 * Creates, changes and archives agents. Expected errors are ServiceErrors: MISSING_PARAMS for an invalid field,
 * AGENT_NOT_FOUND.
 * @param policy capabilities of this service; required wherever agents are created or changed for customers
 * @param checkIds asks the providers about models and voices; required there, too
 */
export function createAgents(database: AgentsDatabase, policy?: AgentPolicy, checkIds?: CheckProviderIds) {
  const { agents } = database;
  const queries = createAgentQueries(database);
  const usable = createUsableCheck(database, policy);
  const policyOf = (mode: Mode) => policy && engineConfigOf(policy, mode);

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

    async create({ accountId, agentId, mode = 'live', ...wanted }: NewAgent): Promise<AgentDocument> {
      const fields = checkAgentFields({
        maxDurationSeconds: AGENT_FIELDS.max_duration_seconds.initial,
        ringTimeoutSeconds: AGENT_FIELDS.ring_timeout_seconds.initial,
        ...wanted,
      });
      const account = await findAccount(database, accountId);
      const { tools: given, ...others } = fields;
      const tools = given ?? [];
      const checks = [
        () => assertVoiceFits(fields, policyOf(mode)),
        () => assertSettingsSupported(fields, policyOf(mode)),
        () => assertPromptSize(tools.length > 0 ? 'tools' : 'instruction', { ...fields, tools }),
        () => assertTemplateSize(fields.outputParameters),
      ];
      const stored = { ...others, ...(await usable(fields, { accountId }, checks)) };
      assertAgentSize(stored);
      await assertIdsKnown({ ...fields, accountId }, { policy: policyOf(mode), checkIds });
      await makeRoom({ accountId, mode }, account);
      const at = new Date();
      const _id = agentId ?? `agent_${ulid()}`;
      const agent: AgentDocument = { _id, accountId, mode, ...stored, createdAt: at, updatedAt: at };
      await agents.create([agent]);
      return agent;
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

    /** Changes an agent. Calls that were already requested keep their copy of the old agent. */
    update(agentId: string, changes: AgentChanges): Promise<AgentDocument> {
      return retryOnConflict({ name: 'agents', maxAttempts: 60 }, async () => {
        const present = await queries.find(agentId);
        if (!present) throw new ServiceError('AGENT_NOT_FOUND', `There is no agent ${agentId}.`);
        const given = checkAgentChanges(changes);
        // An agent whose voice or engine is no longer available can still be changed, so check only the changed fields.
        const wanted = { ...present, ...given };
        const { voice = '', language = '', engine } = wanted;
        const ofMode = policyOf(modeOfAgent(present));
        const isVoiceNew = SPOKEN.some((field) => (wanted[field] ?? undefined) !== present[field]);
        const checks = [
          () => isVoiceNew && assertVoiceFits({ voice, language, engine: engine ?? undefined }, ofMode),
          () => assertSettingsSupported(wanted, ofMode, present),
          () => assertNewPromptSize(given, present),
          () => assertTemplateSize(given.outputParameters ?? undefined),
        ];
        const stored = { ...given, ...(await usable(given, present, checks)) };
        assertAgentSize({ ...present, ...stored }, present);
        await assertIdsKnown(wanted, { policy: ofMode, checkIds }, present);
        // The checks hold for the agent as it was read, so update only that version: each has a later time.
        const { updatedAt } = present;
        const update = { ...stored, updatedAt: new Date(Math.max(Date.now(), updatedAt.getTime() + 1)) };
        const changed = await agents
          .findOneAndUpdate({ _id: agentId, updatedAt }, updateOf(update), { returnDocument: 'after' })
          .lean<AgentDocument>();
        return changed ?? CONFLICT;
      });
    },
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

/**
 * Checks the prompt size only if the prompt changes, so that older agents with a longer prompt can still be changed.
 */
function assertNewPromptSize(given: AgentChanges, present: AgentDocument): void {
  const field = PROMPTED.find((name) => given[AGENT_FIELDS[name].stored]);
  if (field === undefined) return;
  const { instruction = present.instruction, tools = present.tools } = given;
  const { firstMessage, pronunciations } = { ...present, ...given };
  assertPromptSize(field, { instruction, tools: tools ?? [], firstMessage, pronunciations });
}

/** The error for a request whose agent does not exist or belongs to another account. */
export function agentNotFound(): ServiceError {
  return new ServiceError('AGENT_NOT_FOUND', 'There is no agent with this agent_id.');
}
