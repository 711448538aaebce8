import { CALL_ID_PATTERN, type Mode } from '../kernel/ids.js';
import { optimisticUpdate, type UpdateDecision } from '../platform/mongo/optimistic-update.js';
import { driverCollection } from '../platform/mongo/driver-collection.js';
import type { BillingDatabase } from './database.js';
import type { LeaseDocument } from './ledger/model.js';

export type LeaseAnswer = { granted: true } | { granted: false; limit: number; current: number };

export interface Leases {
  /**
   * Takes a place for a call when fewer than `limit` are taken. A call that has its place is granted it again; one that
   * gave it back is refused.
   */
  acquire(p: { accountId: string; mode: Mode; callId: string; limit: number }): Promise<LeaseAnswer>;
  /** Gives the place back, once, however often it is called; a place that was never taken is blocked from then on. */
  release(p: { accountId: string; mode: Mode; callId: string }): Promise<void>;
  /** The places of every account and mode. */
  places(): AsyncIterable<LeaseCount>;
  /** How many places of one account and mode are taken. */
  taken(p: { accountId: string; mode: Mode }): Promise<number>;
  /** The places of one account and mode; null when it never had a call. */
  placesOf(p: { accountId: string; mode: Mode }): Promise<LeaseCount | null>;
  /**
   * Makes the count that of the places that are taken. By their difference, which no call changes: so it is right
   * while others take and give back places, and of two who do it at once one does.
   * @returns what was added to the count; 0 when it was right
   */
  recount(p: { accountId: string; mode: Mode }): Promise<number>;
}

/** As one document says at one moment: each change of a place changes the count with it, so they are always equal. */
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
 * How long a released call's tombstone blocks a late acquire. Long enough for any attempt that is still on its way,
 * short enough that the document of a busy account stays small.
 */
const TOMBSTONE_MS = 5 * 60_000;
/** At most this often per account does one process remove old tombstones. */
const PRUNE_EVERY_MS = 30_000;

/** Places for concurrent calls: one document per account and mode, each change of it one guarded, atomic update. */
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

  /** Of two that prune at once the epoch lets one through: the other's list may name places that are taken again. */
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
    async acquire(p: Parameters<Leases['acquire']>[0]): Promise<LeaseAnswer> {
      const { callId, limit } = p;
      const id = documentId(p);
      const path = pathOf(callId);
      const lease = { acquiredAt: new Date() };
      const granting: UpdateDecision<LeaseDocument, LeaseAnswer> = {
        answer: { granted: true },
        when: { [path]: { $exists: false }, count: { $lt: limit } },
        update: { $set: { [path]: lease }, $inc: { count: 1 } },
      };
      return change<LeaseAnswer>(id, { blind: granting, projection: { count: 1, [path]: 1 } }, (found) => {
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
      const giving: UpdateDecision<LeaseDocument, undefined> = {
        answer: undefined,
        when: { [path]: { $exists: true }, [`${path}.releasedAt`]: { $exists: false } },
        update: { $set: { [path]: tombstone }, $inc: { count: -1 } },
      };
      await change(id, { blind: giving, projection: { count: 1, [path]: 1 } }, (found) => {
        if (!found)
          return { answer: undefined, insert: { _id: id, count: 0, epoch: 0, leases: { [callId]: tombstone } } };
        const present = found.leases?.[callId];
        if (present) return present.releasedAt ? { answer: undefined } : giving;
        return { answer: undefined, when: { [path]: { $exists: false } }, update: { $set: { [path]: tombstone } } };
      });
      await prune(id);
    },

    async *places(): AsyncIterable<LeaseCount> {
      for await (const document of documents.find({})) yield placesIn(document);
    },

    async taken(p: { accountId: string; mode: Mode }): Promise<number> {
      return (await documents.findOne({ _id: documentId(p) }, { projection: { count: 1 } }))?.count ?? 0;
    },

    async placesOf(p: { accountId: string; mode: Mode }): Promise<LeaseCount | null> {
      const document = await documents.findOne({ _id: documentId(p) });
      return document && placesIn(document);
    },

    async recount(p: { accountId: string; mode: Mode }): Promise<number> {
      return change(documentId(p), {}, (found) => {
        const off = found ? placesIn(found).taken.length - found.count : 0;
        if (!found || off === 0) return { answer: 0 };
        return { answer: off, when: { epoch: found.epoch }, update: { $inc: { count: off, epoch: 1 } } };
      });
    },
  };
}

function placesIn({ _id, count, leases }: LeaseDocument): LeaseCount {
  const [accountId = '', name] = _id.split('~');
  const mode = name === 'live' ? 'live' : 'test';
  const taken = Object.entries(leases ?? {}).flatMap(([callId, { acquiredAt, releasedAt }]) =>
    acquiredAt && !releasedAt ? [{ accountId, mode, callId, acquiredAt } as const] : [],
  );
  return { accountId, mode, count, taken };
}

function documentId(p: { accountId: string; mode: Mode }): string {
  return `${p.accountId}~${p.mode}`;
}

/** The call id becomes a field name, so it must be one. */
function pathOf(callId: string): `leases.${string}` {
  if (!CALL_ID_PATTERN.test(callId)) throw new RangeError('not a call id');
  return `leases.${callId}`;
}
