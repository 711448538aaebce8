import { createHash } from 'node:crypto';
import type { Mode } from '../../kernel/ids.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { CallsDatabase } from '../database.js';
import type { IdempotencyKeyDocument } from './idempotency-key-model.js';

/** A key is kept for 24 hours; then it is as if it had never been used. */
export const IDEMPOTENCY_KEYS_KEPT_MS = 24 * 60 * 60 * 1_000;

/** Tries to claim a key that others claim and expire at the same time. */
const MOST_CLAIMS = 5;

export interface KeyOwner {
  accountId: string;
  mode: Mode;
  /** As the client sent it; only its hash is stored. */
  key: string;
}

export type IdempotencyKeys = ReturnType<typeof createIdempotencyKeys>;

/** Clients' idempotency keys: which call each stands for, and the answer that was kept. */
export function createIdempotencyKeys(database: CallsDatabase) {
  const { idempotencyKeys } = database;

  async function find(owner: KeyOwner): Promise<IdempotencyKeyDocument | null> {
    const row = await idempotencyKeys.findById(idOf(owner)).lean<IdempotencyKeyDocument>();
    return row !== null && row.expiresAt.getTime() > Date.now() ? row : null;
  }

  /** Puts `fresh` in the place of an expired row; false when someone else changed the row meanwhile. */
  async function replaceExpired(fresh: IdempotencyKeyDocument, now: Date): Promise<boolean> {
    const { _id, ...fields } = fresh;
    const replaced = await idempotencyKeys.updateOne(
      { _id, expiresAt: { $lte: now } },
      { $set: fields, $unset: { answerStatus: '', answerBody: '' } },
    );
    return replaced.modifiedCount === 1;
  }

  return {
    /** The row of a key that is in force. */
    find,

    /**
     * Takes a key for a call unless it is taken; returns the row that stands.
     * @param bodyHash hash of the request, by which another request with the same key is told apart
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
     * Gives a key a new call because its first came to nothing that is kept. Only one of several that try succeeds.
     * @returns the call the key stands for now
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

    /** Takes out what could tell the request of an erased call. The row stays, so that a repeat places no second call. */
    async erase(callId: string): Promise<void> {
      // As the driver's own write: a model refuses empty texts.
      await idempotencyKeys.collection.updateMany({ callId }, { $set: { bodyHash: '' } });
    },

    /** Keeps the answer of a key's call; the first one kept stays. */
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
