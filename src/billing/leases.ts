import { CALL_ID_PATTERN, type Mode } from '../kernel/ids.js';
import { optimisticUpdate, type UpdateDecision } from '../platform/mongo/optimistic-update.js';
import { driverCollection } from '../platform/mongo/driver-collection.js';
import type { BillingDatabase } from './database.js';
import type { LeaseDocument } from './ledger/model.js';

export type LeaseResult = { granted: true } | { granted: false; limit: number; current: number };

export interface Leases {
  /**
   * Acquires a concurrency slot for a call if fewer than `limit` are taken. Granted again to a call that holds its
   * slot, rejected for a call that released it.
   */
  acquire(p: { accountId: string; mode: Mode; callId: string; limit: number }): Promise<LeaseResult>;
  /** Releases the slot; idempotent. The call cannot acquire a slot afterwards, even if it had none before. */
  release(p: { accountId: string; mode: Mode; callId: string }): Promise<void>;
  /** Reads the slots of some accounts and modes, by the ids of their documents. */
  slotsByIds(ids: readonly string[]): Promise<LeaseCount[]>;
  /** Counts the taken slots of one account and mode. */
  taken(p: { accountId: string; mode: Mode }): Promise<number>;
  /** Reads the slots of one account and mode; null if it never had a call. */
  slotsOf(p: { accountId: string; mode: Mode }): Promise<LeaseCount | null>;
  /**
   * Corrects the counter to the number of taken slots. It adds only the difference, so that concurrent acquires and
   * releases stay correct. Of two concurrent recounts only one has an effect.
   * @returns the amount added to the counter; 0 when it was correct
   */
  recount(p: { accountId: string; mode: Mode }): Promise<number>;
}

/**
 * Slots of one account and mode, read from their document. Each acquire or release changes the slot and the counter in
 * one update, so both agree unless the counter was damaged.
 */
export interface LeaseCount {
  accountId: string;
  mode: Mode;
  count: number;
  taken: TakenLease[];
}

export interface TakenLease {
  accountId: string;
  mode: Mode;
  callId: string;
  acquiredAt: Date;
}

/**
 * How long the tombstone of a released slot prevents its call from acquiring a slot. Long enough for all attempts still
 * in progress, short enough to keep the document of a busy account small: each change of a slot writes it as a whole. Reconciliation
 * releases the slot of an attempt that was frozen for longer. The clocks of processes may differ by less than this.
 */
const TOMBSTONE_MS = 60_000;
/** Minimum time between removals of old tombstones, per account and process. */
const PRUNE_EVERY_MS = 15_000;

/** Creates the concurrency slots: one document per account and mode, changed only by guarded atomic updates. */
export function createLeases(
  database: BillingDatabase,
  options: { tombstoneMs?: number; pruneEveryMs?: number } = {},
): Leases {
  const tombstoneMs = options.tombstoneMs ?? TOMBSTONE_MS;
  const pruneEveryMs = options.pruneEveryMs ?? PRUNE_EVERY_MS;
  const documents = driverCollection<LeaseDocument>(database, database.leases);
  const prunedAt = new Map<string, number>();

  const change = <T>(
    id: string,
    options: { blind?: UpdateDecision<LeaseDocument, T>; projection?: Record<string, 1> },
    decide: (found: LeaseDocument | null) => UpdateDecision<LeaseDocument, T>,
  ) => optimisticUpdate(documents, id, decide, { name: 'leases', ...options });

  /**
   * Removes old tombstones. The update requires that the document's epoch is still the one that was read, so of two
   * concurrent removals only the first succeeds. The second could remove a slot that was acquired again meanwhile.
   */
  async function prune(id: string): Promise<void> {
    const now = Date.now();
    if (now - (prunedAt.get(id) ?? 0) < pruneEveryMs) return;
    prunedAt.set(id, now);
    const found = await documents.findOne({ _id: id });
    const old = Object.entries(found?.leases ?? {}).filter(([, { removeAfter }]) => removeAfter && +removeAfter < now);
    if (!found || old.length === 0) return;
    await documents.updateOne(
      { _id: id, epoch: found.epoch },
      { $unset: Object.fromEntries(old.map(([callId]) => [pathOf(callId), ''])), $inc: { epoch: 1 } },
    );
  }

  return {
    async acquire(p: Parameters<Leases['acquire']>[0]): Promise<LeaseResult> {
      const { callId, limit } = p;
      const id = documentId(p);
      const path = pathOf(callId);
      const lease = { acquiredAt: new Date() };
      const granting: UpdateDecision<LeaseDocument, LeaseResult> = {
        answer: { granted: true },
        when: { [path]: { $exists: false }, count: { $lt: limit } },
        update: { $set: { [path]: lease }, $inc: { count: 1 } },
      };
      return change<LeaseResult>(id, { blind: granting, projection: { count: 1, [path]: 1 } }, (found) => {
        const present = found?.leases?.[callId];
        if (present && !present.releasedAt) return { answer: { granted: true } };
        const current = found?.count ?? 0;
        if (present || current >= limit) return { answer: { granted: false, limit, current } };
        if (found) return granting;
        return { answer: { granted: true }, insert: { _id: id, count: 1, epoch: 0, leases: { [callId]: lease } } };
      });
    },

    async release(p: Parameters<Leases['release']>[0]): Promise<void> {
      const { callId } = p;
      const id = documentId(p);
      const path = pathOf(callId);
      const now = Date.now();
      const tombstone = { releasedAt: new Date(now), removeAfter: new Date(now + tombstoneMs) };
      const releasing: UpdateDecision<LeaseDocument, undefined> = {
        answer: undefined,
        when: { [path]: { $exists: true }, [`${path}.releasedAt`]: { $exists: false } },
        update: { $set: { [path]: tombstone }, $inc: { count: -1 } },
      };
      await change(id, { blind: releasing, projection: { count: 1, [path]: 1 } }, (found) => {
        if (!found)
          return { answer: undefined, insert: { _id: id, count: 0, epoch: 0, leases: { [callId]: tombstone } } };
        const present = found.leases?.[callId];
        if (present) return present.releasedAt ? { answer: undefined } : releasing;
        return { answer: undefined, when: { [path]: { $exists: false } }, update: { $set: { [path]: tombstone } } };
      });
      await prune(id);
    },

    async slotsByIds(ids): Promise<LeaseCount[]> {
      return (await documents.find({ _id: { $in: [...ids] } }).toArray()).map(slotsIn);
    },

    async taken(p: { accountId: string; mode: Mode }): Promise<number> {
      return (await documents.findOne({ _id: documentId(p) }, { projection: { count: 1 } }))?.count ?? 0;
    },

    async slotsOf(p: { accountId: string; mode: Mode }): Promise<LeaseCount | null> {
      const document = await documents.findOne({ _id: documentId(p) });
      return document && slotsIn(document);
    },

    async recount(p: { accountId: string; mode: Mode }): Promise<number> {
      return change(documentId(p), {}, (found) => {
        const off = found ? slotsIn(found).taken.length - found.count : 0;
        if (!found || off === 0) return { answer: 0 };
        return { answer: off, when: { epoch: found.epoch }, update: { $inc: { count: off, epoch: 1 } } };
      });
    },
  };
}

/** Returns the taken slots in a document. Never throws: if the time of a slot is not a date, it is taken as 1970. */
function slotsIn({ _id, count, leases }: LeaseDocument): LeaseCount {
  const [accountId = '', name] = String(_id).split('~');
  const mode = name === 'live' ? 'live' : 'test';
  const taken = Object.entries<Partial<LeaseDocument['leases'][string]> | null>(leases ?? {}).flatMap(
    ([callId, lease]) => {
      if (!lease?.acquiredAt || lease.releasedAt) return [];
      const acquiredAt = lease.acquiredAt instanceof Date ? lease.acquiredAt : new Date(0);
      return [{ accountId, mode, callId, acquiredAt } as const];
    },
  );
  return { accountId, mode, count, taken };
}

function documentId(p: { accountId: string; mode: Mode }): string {
  return `${p.accountId}~${p.mode}`;
}

/**
 * Returns the field path of a call's lease. Validates the id because it becomes a field name.
 * @throws RangeError unless it is a call id
 */
function pathOf(callId: string): `leases.${string}` {
  if (!CALL_ID_PATTERN.test(callId)) throw new RangeError('callId must be a valid call id');
  return `leases.${callId}`;
}
