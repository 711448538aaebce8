import { createHash } from 'node:crypto';
import type { Mode } from '../../kernel/ids.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { CallsDatabase } from '../database.js';
import type { IdempotencyKeyDocument } from './idempotency-key-model.js';

/** Keys are kept for 24 hours; afterwards they count as unused. */
export const IDEMPOTENCY_KEYS_KEPT_MS = 24 * 60 * 60 * 1_000;

/** Maximum attempts to claim a key that other requests claim, or that expires, at the same time. */
const MOST_CLAIMS = 5;

export interface KeyOwner {
  accountId: string;
  mode: Mode;
  /** As the client sent it; only its hash is stored. */
  key: string;
}

export type IdempotencyKeys = ReturnType<typeof createIdempotencyKeys>;

/** Stores clients' idempotency keys, each with its call and the stored response. */
export function createIdempotencyKeys(database: CallsDatabase) {
  const { idempotencyKeys } = database;

  async function find(owner: KeyOwner): Promise<IdempotencyKeyDocument | null> {
    const row = await idempotencyKeys.findById(idOf(owner)).lean<IdempotencyKeyDocument>();
    return row !== null && row.expiresAt.getTime() > Date.now() ? row : null;
  }

  /** Replaces an expired row; false if another request changed it meanwhile. */
  async function replaceExpired(fresh: IdempotencyKeyDocument, now: Date): Promise<boolean> {
    const { _id, ...fields } = fresh;
    const replaced = await idempotencyKeys.updateOne(
      { _id, expiresAt: { $lte: now } },
      { $set: fields, $unset: { answerStatus: '', answerBody: '' } },
    );
    return replaced.modifiedCount === 1;
  }

  return {
    /** The unexpired row of a key. */
    find,

    /**
     * Claims a key for a call, unless an unexpired row exists. Returns the row in force, and whether it was created.
     * @param claim.bodyHash hash of the request, to detect another request with the same key
     */
    async claim(
      owner: KeyOwner,
      claim: { bodyHash: string; callId: string },
    ): Promise<{ row: IdempotencyKeyDocument; created: boolean }> {
      for (let attempt = 0; attempt < MOST_CLAIMS; attempt++) {
        const now = new Date();
        const row: IdempotencyKeyDocument = {
          _id: idOf(owner),
          ...claim,
          createdAt: now,
          expiresAt: new Date(now.getTime() + IDEMPOTENCY_KEYS_KEPT_MS),
        };
        try {
          await idempotencyKeys.create(row);
          return { row, created: true };
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
        }
        const standing = await find(owner);
        if (standing) return { row: standing, created: false };
        if (await replaceExpired(row, now)) return { row, created: true };
      }
      throw new Error('An idempotency key could not be claimed: it changed hands again and again.');
    },

    /**
     * Assigns a key to a new call, because its call was refused without a stored response. Of several concurrent
     * attempts only one succeeds.
     * @returns the key's call id now
     */
    async renew(row: IdempotencyKeyDocument, newCallId: string): Promise<string> {
      const { _id, callId } = row;
      await idempotencyKeys.updateOne(
        { _id, callId, answerStatus: { $exists: false } },
        { $set: { callId: newCallId } },
      );
      const standing = await idempotencyKeys.findById(_id).lean<IdempotencyKeyDocument>();
      return standing?.callId ?? callId;
    },

    /** Removes the hash of an erased call's request. The row stays, so that a repeat places no second call. */
    async erase(callId: string): Promise<void> {
      // Through the driver, because the Mongoose model rejects empty strings.
      await idempotencyKeys.collection.updateMany({ callId }, { $set: { bodyHash: '' } });
    },

    /** Stores the response for a key's call, unless one is already stored. */
    async keep(row: IdempotencyKeyDocument, answer: { status: number; body: object }): Promise<void> {
      await idempotencyKeys.updateOne(
        { _id: row._id, callId: row.callId, answerStatus: { $exists: false } },
        { $set: { answerStatus: answer.status, answerBody: JSON.stringify(answer.body) } },
      );
    },
  };
}

function idOf({ accountId, mode, key }: KeyOwner): string {
  return `${accountId}:${mode}:${createHash('sha256').update(key).digest('hex')}`;
}
