import { ledgerAccountId } from '../../kernel/ids.js';
import type { RetentionDays } from '../../platform/config/retention-settings.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { ReconciliationChecks } from '../reconciliation/checks.js';
import { createCallExpiry, type CallClass, type ExpiryDeps } from './expire-call.js';
import type { CallsDatabase } from '../database.js';
import { afterCursor, cursorOf } from './cursors.js';
import { findReady, OLD_REQUEST_FIELDS, type OldRequest } from './ready-calls.js';

const DAY_MS = 24 * 3_600_000;
/** Time limit of each class in a round; the next round continues. */
const CLASS_BUDGET_MS = 8_000;
/** Time limit of a call that was begun, also after the time of its class. */
const CALL_BUDGET_MS = 10_000;
/** After so many failures in a row, a class waits for the next round. */
const MOST_FAILURES = 2;
/** Calls whose data are deleted at once. */
const MOST_AT_ONCE = 8;
const CALLS_AT_ONCE = 100;
const AUDIT_ENTRIES_AT_ONCE = 1_000;
/** Whole calls come first, so that the other classes need not look at them. */
const CLASSES: readonly CallClass[] = ['calls', 'transcripts', 'deliveries', 'carrierEvents'];

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
  const { callRequests, auditEntries, reconciliationCursors: cursors } = database;
  const expiry = createCallExpiry(deps);

  const cutoffOf = (days: number) => new Date(Date.now() - days * DAY_MS);

  /** Deletes data of a call. One that is not ready, and one that fails, gets a check. */
  async function expireOne(
    which: CallClass,
    request: OldRequest,
    { isReady, signal }: { isReady: boolean; signal: AbortSignal },
  ): Promise<'deleted' | 'postponed' | 'failed'> {
    try {
      if (isReady) await expiry[which](request._id, signal);
      else await addCheck(request);
      return isReady ? 'deleted' : 'postponed';
    } catch (err) {
      logger.error({ err, callId: request._id, class: which }, 'data past its retention could not be deleted');
      await addCheck(request);
      return 'failed';
    }
  }

  /**
   * Deletes data of these calls, some at once, until the time is over, but of at least one of them. If two fail one after
   * the other, their store may be down, and the others wait.
   * @returns the last call that was worked on, and whether the class may continue in this round
   */
  async function expireIn(
    which: CallClass,
    requests: readonly [OldRequest, ...OldRequest[]],
    { until, signal }: { until: number; signal: AbortSignal },
  ): Promise<{ swept: number; last: OldRequest; continues: boolean }> {
    const ready = await findReady(database, requests);
    let [swept, failures, atOnce, last] = [0, 0, 1, requests[0]];
    for (let at = 0; at < requests.length;) {
      const group = requests.slice(at, at + atOnce);
      const work = (request: OldRequest) => expireOne(which, request, { isReady: ready.has(request._id), signal });
      const outcomes = await Promise.all(group.map(work));
      for (const outcome of outcomes) {
        failures = outcome === 'failed' ? failures + 1 : 0;
        swept += Number(outcome !== 'failed');
      }
      // Several at once only while the store works.
      if (outcomes.includes('failed')) atOnce = 1;
      else if (outcomes.includes('deleted')) atOnce = MOST_AT_ONCE;
      at += group.length;
      last = group.at(-1) ?? last;
      if (failures >= MOST_FAILURES || Date.now() >= until) return { swept, last, continues: false };
    }
    return { swept, last, continues: true };
  }

  function addCheck({ _id: callId, accountId, mode }: OldRequest): Promise<void> {
    return checks.add('retention', { callId, ledgerAccountId: ledgerAccountId(accountId, mode) });
  }

  async function sweepClass(which: CallClass, until: number): Promise<number> {
    if (retention[which] === 0) return 0;
    const name = cursorOf(which);
    const signal = AbortSignal.timeout(Math.max(0, until - Date.now()) + CALL_BUDGET_MS);
    let [swept, continues] = [0, true];
    while (continues && Date.now() < until) {
      const [first, ...others] = await callRequests
        .find(
          { createdAt: { $lte: cutoffOf(retention[which]) }, ...afterCursor(await cursors.findById(name).lean()) },
          OLD_REQUEST_FIELDS,
        )
        .sort({ createdAt: 1, _id: 1 })
        .limit(CALLS_AT_ONCE)
        .lean<OldRequest[]>();
      if (first === undefined) break;
      const done = await expireIn(which, [first, ...others], { until, signal });
      const { createdAt: at, _id: id } = done.last;
      await cursors.updateOne({ _id: name }, { $set: { at, id } }, { upsert: true });
      swept += done.swept;
      continues = done.continues;
    }
    return swept;
  }

  return {
    /** Deletes what is past its retention, for a limited time; the next round continues. */
    async sweep(): Promise<void> {
      for (const which of CLASSES) {
        const swept = await sweepClass(which, Date.now() + CLASS_BUDGET_MS);
        if (swept > 0) logger.info({ class: which, calls: swept }, 'data past its retention deleted');
      }
      const entries =
        retention.audit === 0
          ? 0
          : await sweepAuditLog(auditEntries, {
              before: cutoffOf(retention.audit),
              until: Date.now() + CLASS_BUDGET_MS,
            });
      if (entries > 0) logger.info({ entries }, 'audit log entries past their retention deleted');
    },

    /**
     * Deletes the data past its retention of a call that was not reconciled when the sweep passed it.
     * @returns false if it still is not
     */
    async expireAgain(callId: string): Promise<boolean> {
      const request = await callRequests.findById(callId, OLD_REQUEST_FIELDS).lean<OldRequest>();
      if (request === null) return true;
      if (!(await findReady(database, [request])).has(callId)) return false;
      const signal = AbortSignal.timeout(CALL_BUDGET_MS);
      for (const which of CLASSES) {
        const isDue = retention[which] > 0 && request.createdAt <= cutoffOf(retention[which]);
        if (isDue) await expiry[which](callId, signal);
        if (isDue && which === 'calls') break;
      }
      return true;
    },
  };
}

/** By time, because not every id of an entry begins with it. */
async function sweepAuditLog(
  auditEntries: CallsDatabase['auditEntries'],
  { before, until }: { before: Date; until: number },
): Promise<number> {
  let deleted = 0;
  while (Date.now() < until) {
    const found = await auditEntries
      .find({ createdAt: { $lt: before } }, { _id: 1 })
      .limit(AUDIT_ENTRIES_AT_ONCE)
      .lean<{ _id: string }[]>();
    if (found.length === 0) break;
    await auditEntries.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } });
    deleted += found.length;
  }
  return deleted;
}
