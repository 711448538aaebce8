import { CALL_ID_PATTERN, type Mode } from '../kernel/ids.js';
import { isDuplicateKey } from '../platform/mongo/connection.js';
import type { BillingDatabase } from './database.js';
import type { Lease, LeaseDocument } from './ledger/model.js';

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
const MAX_ATTEMPTS = 20;

/** Places for concurrent calls: one document per account and mode, each change of it one guarded, atomic update. */
export function createLeases(
  database: BillingDatabase,
  options: { tombstoneMs?: number; pruneEveryMs?: number } = {},
): Leases {
  const tombstoneMs = options.tombstoneMs ?? TOMBSTONE_MS;
  const pruneEveryMs = options.pruneEveryMs ?? PRUNE_EVERY_MS;
  // The driver's own collection: mongoose would cast away fields whose names are call ids.
  const db = database.connection.getClient().db(database.connection.name);
  const documents = db.collection<LeaseDocument>(database.leases.collection.collectionName);
  const prunedAt = new Map<string, number>();

  async function read(id: string, callId: string): Promise<{ count: number; lease: Lease | undefined }> {
    const found = await documents.findOne({ _id: id }, { projection: { count: 1, [pathOf(callId)]: 1 } });
    if (found) return { count: found.count, lease: found.leases?.[callId] };
    await documents.insertOne({ _id: id, count: 0, epoch: 0, leases: {} }).catch((error: unknown) => {
      if (!isDuplicateKey(error)) throw error;
    });
    return { count: 0, lease: undefined };
  }

  async function acquire(p: Parameters<Leases['acquire']>[0]): Promise<LeaseAnswer> {
    const id = documentId(p);
    const path = pathOf(p.callId);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { matchedCount } = await documents.updateOne(
        { _id: id, [path]: { $exists: false }, count: { $lt: p.limit } },
        { $set: { [path]: { acquiredAt: new Date() } }, $inc: { count: 1 } },
      );
      if (matchedCount === 1) return { granted: true };
      const { count, lease } = await read(id, p.callId);
      if (lease && !lease.releasedAt) return { granted: true };
      if (lease || count >= p.limit) return { granted: false, limit: p.limit, current: count };
    }
    throw new Error('the account found no quiet moment for a lease');
  }

  async function release(p: Parameters<Leases['release']>[0]): Promise<void> {
    const id = documentId(p);
    const path = pathOf(p.callId);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const now = Date.now();
      const tombstone = { releasedAt: new Date(now), removeAfter: new Date(now + tombstoneMs) };
      const given = await documents.updateOne(
        { _id: id, [path]: { $exists: true }, [`${path}.releasedAt`]: { $exists: false } },
        { $set: { [path]: tombstone }, $inc: { count: -1 } },
      );
      if (given.matchedCount === 1) break;
      const { lease } = await read(id, p.callId);
      if (lease?.releasedAt) break;
      const blocked = await documents.updateOne(
        { _id: id, [path]: { $exists: false } },
        { $set: { [path]: tombstone } },
      );
      if (blocked.matchedCount === 1) break;
    }
    await prune(id);
  }

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

  async function* places(): AsyncIterable<LeaseCount> {
    for await (const document of documents.find({})) yield placesIn(document);
  }

  async function taken(p: { accountId: string; mode: Mode }): Promise<number> {
    return (await documents.findOne({ _id: documentId(p) }, { projection: { count: 1 } }))?.count ?? 0;
  }

  async function placesOf(p: { accountId: string; mode: Mode }): Promise<LeaseCount | null> {
    const document = await documents.findOne({ _id: documentId(p) });
    return document && placesIn(document);
  }

  async function recount(p: { accountId: string; mode: Mode }): Promise<number> {
    const id = documentId(p);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const found = await documents.findOne({ _id: id });
      const off = found ? placesIn(found).taken.length - found.count : 0;
      if (!found || off === 0) return 0;
      const { matchedCount } = await documents.updateOne(
        { _id: id, epoch: found.epoch },
        { $inc: { count: off, epoch: 1 } },
      );
      if (matchedCount === 1) return off;
    }
    throw new Error('the account found no quiet moment for a recount of its places');
  }

  return { acquire, release, taken, places, placesOf, recount };
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
