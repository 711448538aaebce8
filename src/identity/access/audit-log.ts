import { createHash } from 'node:crypto';
import { ulid } from 'ulid';
import type { Mode } from '../../kernel/ids.js';
import type { IdentityDatabase } from '../database.js';
import type { AuditEntryDocument } from './audit-entry-model.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import { readPage, type Page, type PagePosition } from '../../platform/mongo/pages.js';

const TEST_ENTRIES_LAST_MS = 30 * 24 * 3_600_000;

type NewEntry = Omit<AuditEntryDocument, '_id' | 'createdAt'>;
export type AuditLog = ReturnType<typeof createAuditLog>;

/**
 * Stores the changes to accounts. Entries are never modified, with one exception: the e-mail address of an expired
 * sign-up is removed. Entries of test mode are deleted after 30 days, because anyone can create many of them at no
 * cost.
 */
export function createAuditLog(database: IdentityDatabase) {
  async function insert(_id: string, entry: NewEntry): Promise<void> {
    const createdAt = new Date();
    const expiresAt = new Date(createdAt.getTime() + TEST_ENTRIES_LAST_MS);
    const lasting = entry.mode === 'test' ? { expiresAt } : {};
    await database.auditEntries.create([{ _id, createdAt, ...entry, ...lasting }]);
  }

  return {
    add: (entry: NewEntry): Promise<void> => insert(`audit_${ulid()}`, entry),

    /** Adds an entry unless it is there: of the same actor, action and target, and added by this function. */
    async addOnce(entry: NewEntry): Promise<void> {
      const same = [entry.accountId, entry.actorId, entry.action, entry.target ?? ''].join('\n');
      const digest = createHash('sha256').update(same).digest('hex').slice(0, 26);
      await insert(`audit_${digest}`, entry).catch((error: unknown) => {
        if (!isDuplicateKey(error)) throw error;
      });
    },

    /**
     * Reads one page of an account's entries.
     * @param p.mode entries of this mode only; absent: entries of both modes
     * @param p.signal aborts the read
     */
    page(p: {
      accountId: string;
      mode?: Mode;
      after?: PagePosition;
      limit: number;
      signal?: AbortSignal;
    }): Promise<Page<AuditEntryDocument>> {
      const { accountId, mode, ...position } = p;
      const filter = { accountId, ...(mode === undefined ? {} : { mode }) };
      return readPage<AuditEntryDocument>(database.auditEntries, { filter, ...position });
    },
  };
}
