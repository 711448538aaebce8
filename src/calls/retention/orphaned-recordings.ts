import type { AuditLog } from '../../identity/access/audit-log.js';
import { callIdOf, possibleFiles } from '../../voice/recordings/file-ids.js';
import type { ObjectStore, StoredCall } from '../../voice/recordings/stores/port.js';
import type { CallsDatabase } from '../database.js';
import { OPERATOR } from '../erasure/remove-call.js';

/** Younger audio is left. A file's document is older than its first segment, and no stream lasts this long. */
const SAFE_AGE_MS = 24 * 60 * 60_000;
/** Calls whose files are looked for at once. Each can have 29. */
const CALLS_AT_ONCE = 100;
/** Deletions that fail one after the other before the rest is left, because the store may be down. */
const MOST_FAILURES = 3;

interface FoundOrphans {
  orphans: StoredCall[];
  /** Number of calls whose audio has a file. */
  kept: number;
  /** Number of calls without a file whose audio is too young to be deleted. */
  tooYoung: number;
}

interface Deps {
  database: CallsDatabase;
  store: ObjectStore;
  auditLog: AuditLog;
}

/**
 * Finds and deletes audio in object storage whose call has no file in the database, because the database was restored
 * to an earlier moment. Nothing can read such audio, and retention does not find it.
 */
export function createOrphanedRecordings({ database, store, auditLog }: Deps) {
  /**
   * Audio of this time or later is left. A copy of the database, such as that of a drill, lacks the files of later
   * calls, but it has no later request either.
   */
  async function readLimit(): Promise<number> {
    const newest = await database.callRequests
      .findOne({}, { createdAt: 1 })
      .sort({ createdAt: -1 })
      .lean<{ createdAt: Date }>();
    return Math.min(Date.now() - SAFE_AGE_MS, newest?.createdAt.getTime() ?? 0);
  }

  /** Those of the calls that have one of these files. */
  async function haveFile(calls: readonly StoredCall[], filesOf: (callId: string) => string[]): Promise<Set<string>> {
    const ids = { _id: { $in: calls.flatMap(({ callId }) => filesOf(callId)) } };
    const files = await database.recordingFiles.find(ids, { _id: 1 }).lean<{ _id: string }[]>();
    return new Set(files.map(({ _id }) => callIdOf(_id)));
  }

  async function* withoutFile(calls: readonly StoredCall[]): AsyncGenerator<StoredCall> {
    for (let at = 0; at < calls.length; at += CALLS_AT_ONCE) {
      const batch = calls.slice(at, at + CALLS_AT_ONCE);
      // Nearly every call has the file of its first stream.
      const first = await haveFile(batch, (callId) => [callId]);
      const others = batch.filter(({ callId }) => !first.has(callId));
      const later = await haveFile(others, possibleFiles);
      yield* others.filter(({ callId }) => !later.has(callId));
    }
  }

  return {
    /** Passes through the whole store. Changes nothing. */
    async find(): Promise<FoundOrphans> {
      const limit = await readLimit();
      const found: FoundOrphans = { orphans: [], kept: 0, tooYoung: 0 };
      for await (const calls of store.storedCalls()) {
        found.kept += calls.length;
        for await (const call of withoutFile(calls)) {
          found.kept -= 1;
          if (call.newestAt.getTime() < limit) found.orphans.push(call);
          else found.tooYoung += 1;
        }
      }
      return found;
    },

    /**
     * Deletes the audio of these calls, unless they have a file now. The audit log of the operator has an entry for each.
     * @returns the ids of the calls whose audio was deleted, and the first failure
     */
    async delete(orphans: readonly StoredCall[]): Promise<{ deleted: string[]; failure?: Error }> {
      const deleted: string[] = [];
      let failure: Error | undefined;
      let failedInRow = 0;
      for await (const { callId: target } of withoutFile(orphans)) {
        try {
          // First, so that nothing is deleted without an entry. The account of the call is not known.
          const entry = { ...OPERATOR, accountId: OPERATOR.actorId, action: 'deleteOrphanedRecording', target };
          await auditLog.addOnce(entry);
          await store.delete(target, []);
          deleted.push(target);
          failedInRow = 0;
        } catch (error) {
          failure ??= error instanceof Error ? error : new Error(String(error));
          failedInRow += 1;
          if (failedInRow === MOST_FAILURES) break;
        }
      }
      return { deleted, ...(failure && { failure }) };
    },
  };
}
