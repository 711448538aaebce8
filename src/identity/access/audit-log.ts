import { ulid } from 'ulid';
import type { IdentityDatabase } from '../database.js';
import type { AuditEntryDocument } from './audit-entry-model.js';
import { readPage, type Page, type PagePosition } from '../../platform/mongo/pages.js';

export type AuditLog = ReturnType<typeof createAuditLog>;

/** Who changed what of an account; entries are added and never changed. */
export function createAuditLog(database: IdentityDatabase) {
  return {
    async add(entry: Omit<AuditEntryDocument, '_id' | 'createdAt'>): Promise<void> {
      await database.auditEntries.create([{ _id: `audit_${ulid()}`, createdAt: new Date(), ...entry }]);
    },

    page(p: { accountId: string; after?: PagePosition; limit: number }): Promise<Page<AuditEntryDocument>> {
      const { accountId, ...position } = p;
      return readPage<AuditEntryDocument>(database.auditEntries, { filter: { accountId }, ...position });
    },
  };
}
