import { createHash } from 'node:crypto';
import type { Mode } from '../../kernel/ids.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { CallsDatabase } from '../database.js';
import type { IdempotencyKeyDocument } from './idempotency-key-model.js';

/** Keys are stored for 24 hours. After that, a client can use the same key for another call. */
export const IDEMPOTENCY_KEY_RETENTION_MS = 24 * 60 * 60 * 1_000;

/** Maximum attempts to claim a key while other requests claim it, too, or while it expires. */
const MAX_CLAIM_ATTEMPTS = 5;

export interface KeyOwner {
  accountId: string;
  mode: Mode;
  /** The key as the client sent it. Only its hash is stored. */
  key: string;
}

interface StorableResponse {
  status: number;
  body: object;
}

export type IdempotencyKeys = ReturnType<typeof createIdempotencyKeys>;

/** Stores clients' idempotency keys, each with its call and the stored response. */
export function createIdempotencyKeys(database: CallsDatabase) {
  const { idempotencyKeys } = database;

  async function find(owner: KeyOwner): Promise<IdempotencyKeyDocument | null> {
    const row = await idempotencyKeys.findById(rowId(owner)).lean<IdempotencyKeyDocument>();
    return row !== null && row.expiresAt.getTime() > Date.now() ? row : null;
  }

  /** Replaces an expired row. Returns false if another request changed the row meanwhile. */
  async function replaceExpired(fresh: IdempotencyKeyDocument, now: Date): Promise<boolean> {
    const { _id, ...fields } = fresh;
    const answer = fresh.answerStatus === undefined ? { $unset: { answerStatus: '', answerBody: '' } } : {};
    const replaced = await idempotencyKeys.updateOne({ _id, expiresAt: { $lte: now } }, { $set: fields, ...answer });
    return replaced.modifiedCount === 1;
  }

  /** Keeps an unanswered row for as long as a new one, so that it does not expire while its call is being placed. */
  async function keep({ _id, answerStatus }: IdempotencyKeyDocument, expiresAt: Date): Promise<boolean> {
    if (answerStatus !== undefined) return true;
    const kept = await idempotencyKeys.updateOne({ _id, expiresAt: { $gt: new Date() } }, { $max: { expiresAt } });
    return kept.matchedCount === 1;
  }

  /** Gives an unanswered key another call, unless it has one already. */
  async function move({ _id, callId }: IdempotencyKeyDocument, newCallId: string): Promise<void> {
    await idempotencyKeys.updateOne(
      { _id, callId, answerStatus: { $exists: false } },
      { $set: { callId: newCallId, expiresAt: newExpiry() } },
    );
  }

  return {
    /** Finds the row of a key unless it has expired. */
    find,

    /**
     * Claims a key for a call, unless the key has an unexpired row. Returns the row that now applies, and whether this
     * claim created it.
     * @param claim.bodyHash hash of the request, to detect another request with the same key
     * @param response the response to store, if it is known already; then there is no call
     */
    async claim(
      owner: KeyOwner,
      claim: { bodyHash: string; callId: string },
      response?: StorableResponse,
    ): Promise<{ row: IdempotencyKeyDocument; created: boolean }> {
      for (let attempt = 0; attempt < MAX_CLAIM_ATTEMPTS; attempt++) {
        const now = new Date();
        const row: IdempotencyKeyDocument = {
          _id: rowId(owner),
          ...claim,
          ...(response && storedForm(response)),
          createdAt: now,
          expiresAt: newExpiry(now),
        };
        try {
          await idempotencyKeys.create(row);
          return { row, created: true };
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
        }
        const existing = await find(owner);
        if (existing && (await keep(existing, row.expiresAt))) return { row: existing, created: false };
        if (await replaceExpired(row, now)) return { row, created: true };
      }
      throw new Error(`An idempotency key could not be claimed in ${MAX_CLAIM_ATTEMPTS} attempts.`);
    },

    /**
     * Assigns a new call to a key whose call was rejected without a stored response. Of several concurrent attempts
     * only one succeeds.
     * @returns the key's call id after the attempt
     */
    async assignNewCall(row: IdempotencyKeyDocument, newCallId: string): Promise<string> {
      const { _id, callId } = row;
      await move(row, newCallId);
      const existing = await idempotencyKeys.findById(_id).lean<IdempotencyKeyDocument>();
      return existing?.callId ?? callId;
    },

    /**
     * Removes the hash of an erased call's request. The row stays, so that repeating the request places no second call.
     */
    async erase(callId: string): Promise<void> {
      // Uses the driver, because the Mongoose model rejects empty strings.
      await idempotencyKeys.collection.updateMany({ callId }, { $set: { bodyHash: '' } });
    },

    /**
     * Takes a call without a stored response off its key, so that a repeated request gets another call.
     * @returns false if a response that names the call is stored
     */
    async disown(row: IdempotencyKeyDocument, newCallId: string): Promise<boolean> {
      const { _id, callId } = row;
      await move(row, newCallId);
      return (await idempotencyKeys.exists({ _id, callId })) === null;
    },

    /**
     * Stores the response for a key's call for 24 hours, unless one is already stored.
     * @returns `moved` if the key has another call meanwhile
     */
    async storeResponse(row: IdempotencyKeyDocument, response: StorableResponse): Promise<'stored' | 'moved'> {
      const { _id, callId } = row;
      const stored = await idempotencyKeys.updateOne(
        { _id, callId, answerStatus: { $exists: false } },
        { $set: { ...storedForm(response), expiresAt: newExpiry() } },
      );
      return stored.matchedCount === 1 || (await idempotencyKeys.exists({ _id, callId })) !== null ? 'stored' : 'moved';
    },
  };
}

function newExpiry(now = new Date()): Date {
  return new Date(now.getTime() + IDEMPOTENCY_KEY_RETENTION_MS);
}

function storedForm({ status, body }: StorableResponse) {
  return { answerStatus: status, answerBody: JSON.stringify(body) };
}

function rowId({ accountId, mode, key }: KeyOwner): string {
  return `${accountId}:${mode}:${createHash('sha256').update(key).digest('hex')}`;
}
