import { encodeTime } from 'ulid';
import { ledgerAccountId } from '../../kernel/ids.js';
import type { RetentionDays } from '../../platform/config/retention-settings.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { tryEach } from '../../platform/try-each.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { CallDocument } from '../call-model.js';
import type { ReconciliationChecks } from '../reconciliation/checks.js';
import type { CursorDocument } from '../reconciliation/model.js';
import { findReconciled } from '../reconciliation/reconciled.js';
import { createCallExpiry, type CallClass, type ExpiryDeps } from './expire-call.js';

const DAY_MS = 24 * 3_600_000;
/** Time limit of each class in a round; the next round continues. */
const CLASS_BUDGET_MS = 8_000;
const CALLS_AT_ONCE = 100;
const AUDIT_ENTRIES_AT_ONCE = 1_000;
const ULID_TIME_LENGTH = 10;
/** Whole calls come first, so that the other classes need not look at them. */
const CLASSES: readonly CallClass[] = ['calls', 'transcripts', 'deliveries', 'carrierEvents'];

type OldRequest = Pick<CallRequestDocument, '_id' | 'accountId' | 'mode' | 'createdAt' | 'toPhoneNumber'>;
const FIELDS = { accountId: 1, mode: 1, createdAt: 1, toPhoneNumber: 1 } as const;

export type RecordRetention = ReturnType<typeof createRecordRetention>;

/**
 * Deletes the records of calls, and entries of the audit log, past their retention. Nothing of a call is deleted before
 * the call is reconciled: until then, it gets a check, which is repeated. Requests are read in the order of their
 * creation, each class from where its last round stopped.
 */
export function createRecordRetention(
  deps: ExpiryDeps & { checks: ReconciliationChecks; retention: RetentionDays; logger: Logger },
) {
  const { database, checks, retention, logger } = deps;
  const { callRequests, calls, auditEntries, reconciliationCursors: cursors } = database;
  const expiry = createCallExpiry(deps);

  const cutoffOf = (days: number) => new Date(Date.now() - days * DAY_MS);

  /** Returns the requests whose data may be deleted, because nothing needs it any more. */
  async function findReady(requests: readonly OldRequest[]): Promise<Set<string>> {
    const ids = requests.map(({ _id }) => _id);
    // The reconciler's walk of calls looks for webhooks that were not sent.
    const walked = await cursors.findById('calls').lean<CursorDocument>();
    const read = await calls
      .find({ _id: { $in: ids } }, { accountId: 1, owner: 1, updatedAt: 1 })
      .lean<(Pick<CallDocument, '_id' | 'accountId' | 'owner'> & { updatedAt?: Date })[]>();
    const stored = read.filter(({ accountId, owner }) => accountId ?? owner);
    const isCall = new Set(stored.map(({ _id }) => _id));
    const isWalked = ({ updatedAt }: { updatedAt?: Date }) =>
      updatedAt === undefined || (walked?.at !== undefined && updatedAt <= walked.at);
    const mayBeReady = new Set(stored.filter(isWalked).map(({ _id }) => _id));
    const ready = await findReconciled(
      database,
      requests
        .filter(({ _id }) => mayBeReady.has(_id))
        .map(({ _id, accountId, mode }) => ({ callId: _id, ledgerAccountId: ledgerAccountId(accountId, mode) })),
    );
    // The requests of rejected and given-up calls are erased at once, and have no call that needs them.
    for (const { _id, toPhoneNumber } of requests) if (!isCall.has(_id) && toPhoneNumber === '') ready.add(_id);
    return ready;
  }

  async function expireIn(which: CallClass, requests: readonly OldRequest[]): Promise<number> {
    const ready = await findReady(requests);
    const wait = ({ _id: callId, accountId, mode }: OldRequest) =>
      checks.add('retention', { callId, ledgerAccountId: ledgerAccountId(accountId, mode) });
    const done = await tryEach(requests, {
      // A step is completed once begun, so that the position stored afterwards is right. It is short.
      until: Infinity,
      async work(request) {
        if (!ready.has(request._id)) return wait(request);
        await expiry[which](request._id);
      },
      async failed(err, request) {
        logger.error({ err, callId: request._id, class: which }, 'data past its retention could not be deleted');
        await wait(request);
      },
    });
    return done.length;
  }

  async function sweepClass(which: CallClass, until: number): Promise<number> {
    if (retention[which] === 0) return 0;
    const name = `retention:${which}`;
    let swept = 0;
    while (Date.now() < until) {
      const requests = await callRequests
        .find(
          { createdAt: { $lte: cutoffOf(retention[which]) }, ...after(await cursors.findById(name).lean()) },
          FIELDS,
        )
        .sort({ createdAt: 1, _id: 1 })
        .limit(CALLS_AT_ONCE)
        .lean<OldRequest[]>();
      const last = requests.at(-1);
      if (last === undefined) break;
      swept += await expireIn(which, requests);
      await cursors.updateOne({ _id: name }, { $set: { at: last.createdAt, id: last._id } }, { upsert: true });
    }
    return swept;
  }

  /** The ids of entries begin with their time, so no further index is needed. */
  async function sweepAuditLog(until: number): Promise<number> {
    if (retention.audit === 0) return 0;
    const before = `audit_${encodeTime(Math.max(0, cutoffOf(retention.audit).getTime()), ULID_TIME_LENGTH)}`;
    let deleted = 0;
    while (Date.now() < until) {
      const found = await auditEntries
        .find({ _id: { $gte: 'audit_', $lt: before } }, { _id: 1 })
        .limit(AUDIT_ENTRIES_AT_ONCE)
        .lean<{ _id: string }[]>();
      if (found.length === 0) break;
      await auditEntries.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } });
      deleted += found.length;
    }
    return deleted;
  }

  return {
    /** Deletes what is past its retention, for a limited time; the next round continues. */
    async sweep(): Promise<void> {
      for (const which of CLASSES) {
        const swept = await sweepClass(which, Date.now() + CLASS_BUDGET_MS);
        if (swept > 0) logger.info({ class: which, calls: swept }, 'data past its retention deleted');
      }
      const entries = await sweepAuditLog(Date.now() + CLASS_BUDGET_MS);
      if (entries > 0) logger.info({ entries }, 'audit log entries past their retention deleted');
    },

    /**
     * Deletes the data past its retention of a call that was not reconciled when the sweep passed it.
     * @returns false if it still is not
     */
    async expireAgain(callId: string): Promise<boolean> {
      const request = await callRequests.findById(callId, FIELDS).lean<OldRequest>();
      if (request === null) return true;
      if (!(await findReady([request])).has(callId)) return false;
      for (const which of CLASSES) {
        const isDue = retention[which] > 0 && request.createdAt <= cutoffOf(retention[which]);
        if (isDue) await expiry[which](callId);
        if (isDue && which === 'calls') break;
      }
      return true;
    },
  };
}

/** Filter for requests after the cursor: later ones, or equally old ones with a greater id. */
function after(cursor: CursorDocument | null) {
  if (!cursor?.at) return {};
  const { at, id } = cursor;
  return { $or: [{ createdAt: { $gt: at } }, { createdAt: at, _id: { $gt: id } }] };
}
