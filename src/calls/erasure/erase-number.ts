import { createHmac } from 'node:crypto';
import { isFinalStatus, type CallStatus } from '../../kernel/call-state.js';
import type { Mode } from '../../kernel/ids.js';
import { storedAgentFault } from '../../agents/fields/stored-agent-fault.js';
import type { AgentDocument } from '../../agents/model.js';
import type { AuditEntryDocument } from '../../identity/access/audit-entry-model.js';
import type { AuditLog } from '../../identity/access/audit-log.js';
import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { UnansweredAttempts } from '../../telephony/destinations/unanswered-attempts.js';
import type { CallsDatabase } from '../database.js';
import type { CallSearch } from '../search/call-search.js';
import { createNumberPattern, type NumberPattern } from './number-pattern.js';
import { documentsWith, redactDocument, type StoredCollection, type StoredDocument } from './redaction.js';
import { OPERATOR, type CallRemoval } from './remove-call.js';

/** Replaces the number in texts. It is also valid in URLs, and needs no escape in a text of JSON. */
const REPLACEMENT = 'erased-number';
/** The JSON Schema of a tool's arguments, and the template, whose values have the types of the extracted ones. */
const TYPED_FIELDS = ['parameters', 'outputParameters'];
const HASH_DIGITS = 16;
/** The audited action. */
const ACTION = 'erasePhoneNumber';

type Model = keyof {
  [K in keyof CallsDatabase as CallsDatabase[K] extends { collection: { collectionName: string } } ? K : never]: true;
};

/** Collections whose documents belong to a call, with the field that has the call's id. */
const OF_CALLS = {
  calls: '_id',
  callRequests: '_id',
  conversationResults: '_id',
  liveWords: '_id',
  callSearch: '_id',
  webhookDeliveries: '_id',
  webhookAttempts: 'callId',
  carrierEvents: 'callId',
  idempotencyKeys: 'callId',
} as const satisfies Partial<Record<Model, '_id' | 'callId'>>;

/** Further collections that can contain a phone number and have an account. */
const OF_ACCOUNTS = ['agents', 'phoneNumbers', 'auditEntries'] as const satisfies readonly Model[];

/**
 * Collections that no phone number of a call reaches, unless somebody used it in a name, an address, a rule, a reason or the id of a
 * payment. They are searched and not changed. The audio of recordings is not searched.
 */
const SEARCHED = [
  'accounts',
  'accountFreezes',
  'apiKeys',
  'carrierBindings',
  'destinationCounts',
  'dialPacing',
  'emailLinks',
  'invitations',
  'ledgerAccounts',
  'ledgerEntries',
  'payments',
  'rateLimits',
  'reconciliationFindings',
  'unverifiedUsers',
  'users',
  'webLegs',
] as const satisfies readonly Model[];

/** Where a phone number is stored. */
export interface NumberUse {
  /** Ended calls from, to or transferred to the number. */
  calls: string[];
  /** Ended calls that only mention the number. */
  mentions: string[];
  /** Calls that have not ended. */
  inProgress: string[];
  /** Documents of agents, numbers and the audit log, by collection. */
  others: Record<string, number>;
  /** Accounts that have one of all these. */
  accountIds: string[];
  /** Documents that an operator has to look at, by collection. */
  left: Record<string, number>;
}

/** Result of an erasure. */
export interface NumberErasure extends NumberUse {
  workflowsDeleted: number;
  /** Workflows of erased calls that still run or may be needed. They contain no number. */
  workflowsLeft: number;
  /** Agents that can be changed only in part until somebody corrects them, because a rule does not allow the replacement. */
  invalidAgents: string[];
}

export type NumberErasures = ReturnType<typeof createNumberErasures>;

/**
 * Erases a phone number from all stored data. An erasure reads every document, because texts of any call can mention a
 * number. It may be interrupted, and repeated; a repeat continues with what is left.
 */
export function createNumberErasures(deps: {
  database: CallsDatabase;
  pepper: string;
  removal: CallRemoval;
  search: CallSearch;
  attempts: UnansweredAttempts;
  auditLog: AuditLog;
}) {
  const { database, removal } = deps;
  const collectionOf = (model: Model) =>
    driverCollection<StoredDocument>(database, database[model]) as StoredCollection;

  /** Finds the calls whose documents contain the number, and whether it is that of a party. */
  async function findCalls(pattern: NumberPattern): Promise<Map<string, boolean>> {
    const found = new Map<string, boolean>();
    for (const [model, field] of Object.entries(OF_CALLS) as [keyof typeof OF_CALLS, '_id' | 'callId'][]) {
      for await (const document of documentsWith(collectionOf(model), pattern)) {
        const callId = String(document[field]);
        found.set(callId, isParty(document, pattern) || found.get(callId) === true);
      }
    }
    return found;
  }

  async function find(number: string): Promise<NumberUse> {
    const pattern = createNumberPattern(number);
    const use: NumberUse = { calls: [], mentions: [], inProgress: [], others: {}, accountIds: [], left: {} };
    const accountIds = new Set<string>();
    for (const [callId, isOfParty] of await findCalls(pattern)) {
      const { accountId, hasEnded } = await readOwner(database, callId);
      if (accountId !== undefined) accountIds.add(accountId);
      if (!hasEnded) use.inProgress.push(callId);
      else use[isOfParty ? 'calls' : 'mentions'].push(callId);
    }
    for (const model of OF_ACCOUNTS) {
      for await (const { accountId } of documentsWith(collectionOf(model), pattern)) {
        add(use.others, collectionOf(model).collectionName);
        accountIds.add(String(accountId));
      }
    }
    for (const model of SEARCHED) {
      for await (const _ of documentsWith(collectionOf(model), pattern))
        add(use.left, collectionOf(model).collectionName);
    }
    return { ...use, accountIds: [...accountIds] };
  }

  async function removeFromCall(callId: string, pattern: NumberPattern): Promise<void> {
    for (const [model, field] of Object.entries(OF_CALLS) as [keyof typeof OF_CALLS, '_id' | 'callId'][]) {
      if (model === 'callSearch') continue;
      const collection = collectionOf(model);
      const documents = await collection.find({ [field]: callId } as object, { projection: { _id: 1 } }).toArray();
      for (const { _id } of documents) await redactDocument(collection, _id, { pattern, replacement: REPLACEMENT });
    }
    // Stores the terms of the texts as they are now, and none for an erased call.
    await deps.search.store(callId);
  }

  /** @returns the agents that were valid before, and are not any more */
  async function removeFromAccounts(pattern: NumberPattern, hash: string): Promise<string[]> {
    const invalid: string[] = [];
    for (const model of OF_ACCOUNTS) {
      const collection = collectionOf(model);
      const replacement = model === 'auditEntries' ? hash : REPLACEMENT;
      for await (const before of documentsWith(collection, pattern)) {
        const { _id } = before;
        if (pattern.isIn(_id)) await collection.deleteOne({ _id });
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

  return {
    /** Finds where a number is stored. Changes nothing. */
    find,

    /**
     * Erases a number. The audit logs of the accounts get an entry with a hash of the number under the pepper, by which a repeat finds
     * the calls whose workflows are left. Calls in progress are left.
     */
    async erase(number: string): Promise<NumberErasure> {
      const use = await find(number);
      const pattern = createNumberPattern(number);
      const hash = `number_${createHmac('sha256', deps.pepper).update(`erased number\n${number}`).digest('hex').slice(0, HASH_DIGITS)}`;
      const erasedBefore = await findErasedBefore(database, hash);
      // Before the erasure, because an interrupted one no longer finds all accounts when it is repeated.
      for (const accountId of use.accountIds) {
        await deps.auditLog.add({ ...OPERATOR, accountId, action: ACTION, target: hash });
      }
      // Before the erasure as well, because a repeat of an interrupted one no longer finds these calls.
      const before = await removal.removeWorkflows(use.calls);
      for (const callId of use.calls) await removal.erase(callId);
      for (const callId of [...use.calls, ...use.mentions]) await removeFromCall(callId, pattern);
      const invalidAgents = await removeFromAccounts(pattern, hash);
      await deps.attempts.forget(number, use.accountIds);
      const after = await removal.removeWorkflows([...new Set([...use.calls, ...erasedBefore])]);
      const workflows = { workflowsDeleted: before.deleted + after.deleted, workflowsLeft: after.left };
      return { ...use, ...workflows, invalidAgents };
    },
  };
}

/** Whether a document of a call says that a party had the number. */
function isParty({ fromPhoneNumber, toPhoneNumber, transferTo }: StoredDocument, pattern: NumberPattern): boolean {
  return [fromPhoneNumber, toPhoneNumber, transferTo].some((text) => typeof text === 'string' && pattern.isWhole(text));
}

/** Reads whose call it is, and whether it has ended. A call without any record of its course may still begin. */
async function readOwner(
  { calls, callRequests }: CallsDatabase,
  callId: string,
): Promise<{ accountId?: string | undefined; hasEnded: boolean }> {
  type Owner = { accountId?: string; mode?: Mode; status?: CallStatus };
  const call = await calls.findById(callId, { accountId: 1, status: 1 }).lean<Owner>();
  const request = await callRequests.findById(callId, { accountId: 1 }).lean<Owner>();
  const accountId = call?.accountId ?? request?.accountId;
  if (call === null) return { accountId, hasEnded: request === null };
  const hasEnded = call.accountId === undefined || (call.status !== undefined && isFinalStatus(call.status));
  return { accountId, hasEnded };
}

function add(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

/** Finds the calls of accounts from which the number was erased before that were erased since: workflows of them may be left. */
async function findErasedBefore({ auditEntries, calls }: CallsDatabase, hash: string): Promise<string[]> {
  const erasures = await auditEntries
    .find({ action: ACTION, target: hash }, { accountId: 1, createdAt: 1 })
    .lean<Pick<AuditEntryDocument, 'accountId' | 'createdAt'>[]>();
  const found = new Set<string>();
  for (const { accountId, createdAt } of erasures) {
    const erased = await calls.find({ accountId, erasedAt: { $gte: createdAt } }, { _id: 1 }).lean<{ _id: string }[]>();
    for (const { _id } of erased) found.add(_id);
  }
  return [...found];
}
