import { createHmac } from 'node:crypto';
import { storedAgentFault } from '../../agents/fields/stored-agent-fault.js';
import type { AgentDocument } from '../../agents/model.js';
import type { AuditEntryDocument } from '../../identity/access/audit-entry-model.js';
import type { AuditLog } from '../../identity/access/audit-log.js';
import type { UnansweredAttempts } from '../../telephony/destinations/unanswered-attempts.js';
import type { CallsDatabase } from '../database.js';
import type { CallSearch } from '../search/call-search.js';
import type { NumberPattern } from './number-pattern.js';
import {
  CALL_MODELS,
  collectionOf,
  createNumberSearch,
  noUse,
  numberPatternsOf,
  OF_ACCOUNTS,
  type NumberSearch,
  type NumberUse,
} from './number-search.js';
import { documentsWith, redactDocument, type StoredDocument } from './redaction.js';
import { OPERATOR, type CallRemoval } from './remove-call.js';

/** Replaces the number in texts. It is also valid in URLs, and needs no escape in a text of JSON. */
const REPLACEMENT = 'erased-number';
/** The JSON Schema of a tool's arguments, and the template, whose values have the types of the extracted ones. */
const TYPED_FIELDS = ['parameters', 'outputParameters'];
const HASH_DIGITS = 16;
/** The audited action. */
const ACTION = 'erasePhoneNumber';
/** Times that everything is read until nothing is found. The last ones read what was stored during the others. */
const MOST_ROUNDS = 5;

/** Result of an erasure. */
export interface NumberErasure extends NumberUse {
  workflowsDeleted: number;
  /** Workflows of erased calls that still run or may be needed. They contain no number. */
  workflowsLeft: number;
  /** Agents that can be changed only in part until somebody corrects them, because a rule does not allow the replacement. */
  invalidAgents: string[];
  /** Whether the number was no longer found in what the erasure changes. */
  isComplete: boolean;
}

export type NumberErasures = ReturnType<typeof createNumberErasures>;

/**
 * Erases a phone number from all stored data. It may be interrupted, and repeated; a repeat continues with what is left.
 */
export function createNumberErasures(deps: {
  database: CallsDatabase;
  pepper: string;
  /** Other peppers under which a number may have been erased. */
  formerPeppers: readonly string[];
  removal: CallRemoval;
  search: CallSearch;
  attempts: UnansweredAttempts;
  auditLog: AuditLog;
}) {
  const { database, removal } = deps;

  async function removeFromCall(callId: string, pattern: NumberPattern): Promise<void> {
    for (const [model, field] of CALL_MODELS) {
      if (model === 'callSearch') continue;
      const collection = collectionOf(database, model);
      const documents = await collection.find({ [field]: callId } as object, { projection: { _id: 1 } }).toArray();
      for (const { _id } of documents) await redactDocument(collection, _id, { pattern, replacement: REPLACEMENT });
    }
    // Stores the terms of the texts as they are now, and none for an erased call.
    await deps.search.store(callId);
    if (!(await database.calls.exists({ _id: callId }))) await deps.search.remove(callId);
  }

  /** @returns the agents that were valid before, and are not any more */
  async function removeFromAccounts(pattern: NumberPattern, hash: string): Promise<string[]> {
    const invalid: string[] = [];
    for (const model of OF_ACCOUNTS) {
      const collection = collectionOf(database, model);
      const replacement = model === 'auditEntries' ? hash : REPLACEMENT;
      for await (const before of documentsWith(collection, pattern)) {
        const { _id } = before;
        // The number of an account, which processes cache with its keys.
        if (pattern.isIn(_id)) await database.credentials.change(() => collection.deleteOne({ _id }));
        else await redactDocument(collection, _id, { pattern, replacement, typedFields: TYPED_FIELDS });
        if (model === 'agents' && (await isNowInvalid(before))) invalid.push(_id);
      }
    }
    return invalid;
  }

  async function isNowInvalid(before: StoredDocument): Promise<boolean> {
    const agent = await database.agents.findById(before._id).lean<AgentDocument>();
    const wasValid = storedAgentFault(before as unknown as AgentDocument) === undefined;
    return agent !== null && wasValid && storedAgentFault(agent) !== undefined;
  }

  /** Erases what was found. Calls in progress are left. */
  async function eraseFound(
    { calls, mentions }: NumberUse,
    { search, worldwide, hash }: { search: NumberSearch; worldwide: NumberPattern; hash: string },
  ): Promise<{ workflowsDeleted: number; invalidAgents: string[] }> {
    // Before the erasure, because a repeat of an interrupted one no longer finds these calls.
    const { deleted: workflowsDeleted } = await removal.removeWorkflows(calls);
    for (const callId of calls) {
      // First, because the erasure removes the parties.
      const pattern = await search.patternOf(callId);
      await removal.erase(callId);
      await removeFromCall(callId, pattern);
    }
    for (const callId of mentions) await removeFromCall(callId, await search.patternOf(callId));
    return { workflowsDeleted, invalidAgents: await removeFromAccounts(worldwide, hash) };
  }

  /** The audit logs of the accounts get an entry, those that are not known yet. */
  async function recordFor(accountIds: readonly string[], known: readonly string[], hash: string): Promise<void> {
    for (const accountId of accountIds) {
      if (!known.includes(accountId)) await deps.auditLog.add({ ...OPERATOR, accountId, action: ACTION, target: hash });
    }
  }

  return {
    /** Finds where a number is stored. Changes nothing. */
    async find(number: string, options = { isUnsureMeant: false }): Promise<NumberUse> {
      return createNumberSearch(database, await numberPatternsOf(number, options)).find();
    },

    /**
     * Erases a number. The audit logs of the accounts get an entry with a hash of the number under the pepper, by which a repeat finds
     * the calls whose workflows are left. Everything is read again until nothing is found, because calls are stored meanwhile.
     */
    async erase(number: string, options = { isUnsureMeant: false }): Promise<NumberErasure> {
      const patterns = await numberPatternsOf(number, options);
      const search = createNumberSearch(database, patterns);
      const { worldwide } = patterns;
      const [hash = '', ...others] = [deps.pepper, ...deps.formerPeppers].map((pepper) => hashOf(number, pepper));
      const erasedBefore = await findErasedBefore(database, [hash, ...others]);
      const none = { workflowsDeleted: 0, workflowsLeft: 0, invalidAgents: [], isComplete: false };
      const sum: NumberErasure = { ...noUse(), ...none };
      for (let round = 1; round <= MOST_ROUNDS && !sum.isComplete; round += 1) {
        const use = await search.find();
        // Before the erasure, because an interrupted one no longer finds all accounts when it is repeated.
        await recordFor(use.accountIds, sum.accountIds, hash);
        Object.assign(sum, sumOf(sum, use), { isComplete: isNothingToErase(use) });
        if (sum.isComplete) break;
        const { workflowsDeleted, invalidAgents } = await eraseFound(use, { search, worldwide, hash });
        sum.workflowsDeleted += workflowsDeleted;
        sum.invalidAgents = union(sum.invalidAgents, invalidAgents);
      }
      await deps.attempts.forget(number, sum.accountIds);
      const after = await removal.removeWorkflows(union(sum.calls, erasedBefore));
      return { ...sum, workflowsDeleted: sum.workflowsDeleted + after.deleted, workflowsLeft: after.left };
    },
  };
}

const isNothingToErase = ({ calls, mentions, others }: NumberUse) =>
  calls.length + mentions.length + Object.keys(others).length === 0;

/** Adds up the rounds; `left`, `inProgress` and `unsure` are those of the last one. */
function sumOf(before: NumberUse, now: NumberUse): NumberUse {
  const calls = union(before.calls, now.calls);
  const others = { ...before.others };
  for (const [name, count] of Object.entries(now.others)) others[name] = (others[name] ?? 0) + count;
  return {
    ...now,
    calls,
    mentions: union(before.mentions, now.mentions).filter((callId) => !calls.includes(callId)),
    others,
    accountIds: union(before.accountIds, now.accountIds),
  };
}

const union = (a: readonly string[], b: readonly string[]): string[] => [...new Set([...a, ...b])];

function hashOf(number: string, pepper: string): string {
  const hash = createHmac('sha256', pepper).update(`erased number\n${number}`).digest('hex');
  return `number_${hash.slice(0, HASH_DIGITS)}`;
}

/** Finds the calls of accounts from which the number was erased before that were erased since: workflows of them may be left. */
async function findErasedBefore({ auditEntries, calls }: CallsDatabase, hashes: readonly string[]): Promise<string[]> {
  const erasures = await auditEntries
    .find({ action: ACTION, target: { $in: [...hashes] } }, { accountId: 1, createdAt: 1 })
    .lean<Pick<AuditEntryDocument, 'accountId' | 'createdAt'>[]>();
  const found = new Set<string>();
  for (const { accountId, createdAt } of erasures) {
    const erased = await calls.find({ accountId, erasedAt: { $gte: createdAt } }, { _id: 1 }).lean<{ _id: string }[]>();
    for (const { _id } of erased) found.add(_id);
  }
  return [...found];
}
