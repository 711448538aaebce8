import type { RunState } from '../runs.js';
import { CALL_ID_PATTERN } from '../../kernel/ids.js';
import { isUnfinished, type CallBill } from './call-bills.js';
import type { CallsDatabase } from '../database.js';
import { checkEstimate } from './estimates.js';
import { findingId, type Finding, type Findings } from './findings.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { CheckDocument } from './model.js';
import type { ReconciliationChecks } from './checks.js';
import type { ReconciliationWalks } from './walks.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { endClosedCall, type ClosedCallDeps } from './closed-call.js';
import type { createUnfinishedWebhooks } from './unfinished-webhooks.js';

export interface ReconciliationDeps extends ClosedCallDeps {
  database: CallsDatabase;
  findings: Findings;
  checks: ReconciliationChecks;
  walks: ReconciliationWalks;
  /** Deletes what is past its retention. @returns false if the call is not reconciled yet */
  expireAgain: (callId: string) => Promise<boolean>;
  logger: Logger;
  /** Age after which an unsettled hold is checked. */
  holdLimitSeconds: number;
  /** Records younger than this are not compared yet, because related ones may still be missing. */
  graceSeconds: number;
}

interface FollowUpDeps extends ReconciliationDeps {
  report: (finding: Finding) => Promise<boolean>;
  readRun: (callId: string) => Promise<RunState>;
  readSwept: (call: { callId: string; ledgerAccountId: string }) => Promise<CallBill | undefined>;
  compareAgain: (call: { callId: string; ledgerAccountId: string }) => Promise<void>;
  unfinishedWebhooks: ReturnType<typeof createUnfinishedWebhooks>;
}

/** Result of checking one call. `over`: no further check is needed. */
interface FollowUp {
  over: boolean;
  ended?: boolean;
  corrected?: boolean;
  notify?: boolean;
}

const CHECKS_PER_ROUND = 200;
/** Time limit of one round, because requests are slow while the carrier is unavailable. The next round continues. */
const BUDGET_MS = 30_000;
/** Time limit of the checks of retention in one round, because a store that is down must not delay money. */
const RETENTION_BUDGET_MS = 10_000;
const MOST_RETENTION_FAILURES = 2;

/** Follows up the calls for which the walks scheduled a check. */
export function createReconciliationFollowUps(deps: FollowUpDeps) {
  const { checks, findings, logger, requests, report, readRun, readSwept } = deps;
  const { unfinishedWebhooks } = deps;

  /** Ends a call that its workflow did not end. @returns whether it is over, and whether its webhook may be unsent */
  async function checkEnding(check: CheckDocument): Promise<{ over: boolean; ended: boolean; notify: boolean }> {
    const { callId, ledgerAccountId, attempts } = check;
    const request = await requests.find(callId);
    const run = await readRun(callId);
    const bill = await readSwept(check);
    // Rejected and expired calls have neither a read model nor a webhook.
    const notify = run !== 'running' && request?.webhookUrl !== undefined && bill?.call !== null;
    if (bill !== undefined && !isUnfinished(bill)) return { over: true, ended: false, notify };
    if (run === 'running') {
      // The workflow will end the call and release its slot and hold. Unless the call is overdue, this check can stop:
      // the walks find the call again when it is settled or when its hold is too old.
      const over = bill?.settlement === null && !(await reportOverdue(check));
      return { over, ended: false, notify: false };
    }
    const overdue = isOverdue(check, request);
    if (!(await endClosedCall(deps, { callId, ledgerAccountId, run, overdue, notFoundChecks: attempts }))) {
      await reportOverdue(check);
      return { over: false, ended: false, notify: false };
    }
    logger.warn({ callId, ledgerAccountId, run }, 'unfinished call ended');
    return { over: true, ended: true, notify };
  }

  /** @returns whether the call has lasted longer than any call may */
  async function reportOverdue(check: CheckDocument): Promise<boolean> {
    const { callId, ledgerAccountId } = check;
    if (!isOverdue(check, await requests.find(callId))) return false;
    await report({ kind: 'hold_overdue', ledgerAccountId, callId, expected: { held: false }, actual: { held: true } });
    return true;
  }

  function isOverdue({ addedAt }: CheckDocument, request: CallRequestDocument | null): boolean {
    const since = request?.createdAt ?? addedAt;
    return Date.now() - since.getTime() > deps.holdLimitSeconds * 1_000;
  }

  return {
    /**
     * Runs the due checks: ends calls that their workflow did not end, corrects estimates, finds unsent webhooks, and
     * afterwards deletes what is past its retention. Checks that fail are postponed, each time for longer.
     * @returns `notify`: ended calls whose workflow may not have sent the webhook
     */
    async followUp(): Promise<{ ended: number; corrected: number; notify: string[] }> {
      const deadline = Date.now() + BUDGET_MS;
      const done = { ended: 0, corrected: 0, notify: [] as string[] };
      for (const check of await checks.due(CHECKS_PER_ROUND)) {
        if (Date.now() > deadline) return done;
        const { ended = false, corrected = false, notify = false } = (await tryCheck(check)) ?? {};
        done.ended += Number(ended);
        done.corrected += Number(corrected);
        if (notify) done.notify.push(check.callId);
      }
      await expireAgain(Math.min(deadline, Date.now() + RETENTION_BUDGET_MS));
      return done;
    },
  };

  /** Runs the due checks of retention, until two fail one after the other: their store may be down. */
  async function expireAgain(until: number): Promise<void> {
    let failures = 0;
    for (const check of await checks.due(CHECKS_PER_ROUND, 'retention')) {
      if (Date.now() > until || failures === MOST_RETENTION_FAILURES) return;
      failures = (await tryCheck(check)) === undefined ? failures + 1 : 0;
    }
  }

  /** @returns undefined if the check failed and was postponed */
  async function tryCheck(check: CheckDocument): Promise<FollowUp | undefined> {
    try {
      const result = await runCheck(check);
      await (result.over ? checks.remove(check) : checks.postpone(check));
      return result;
    } catch (error) {
      // The carrier or the ledger may be unavailable. One call must not delay the others.
      logger.warn({ err: error, callId: check.callId, kind: check.kind }, 'call could not be reconciled');
      await checks.postpone(check);
      if (check.kind === 'ending' && isWellFormed(check)) await reportOverdue(check);
      return undefined;
    }
  }

  async function runCheck(check: CheckDocument): Promise<FollowUp> {
    // A malformed call id must not be used as a workflow id.
    if (!isWellFormed(check))
      throw new RangeError('A reconciliation check has an invalid call id, ledger account or due date.');
    switch (check.kind) {
      case 'estimate':
        return checkEstimate(deps, check);
      case 'webhook':
        return unfinishedWebhooks.followUp(check.callId);
      case 'comparison':
        await deps.compareAgain(check);
        return { over: true };
      case 'retention':
        return { over: await deps.expireAgain(check.callId) };
      case 'words':
        await deps.droppedWords.dropAgain(check.callId);
        return { over: true };
      case 'ending': {
        const ending = await checkEnding(check);
        if (ending.over) await resolveOverdue(findings, check);
        return ending;
      }
    }
  }
}

/** Resolves a call's `hold_overdue` finding when its hold is settled. All other findings need an operator. */
async function resolveOverdue(findings: Findings, { callId, ledgerAccountId }: CheckDocument): Promise<void> {
  const id = findingId({ kind: 'hold_overdue', callId, ledgerAccountId });
  await findings.resolve({ id, by: 'reconciler', reason: 'The call is over and its hold is settled.' });
}

function isWellFormed({ callId, ledgerAccountId, addedAt }: CheckDocument): boolean {
  return CALL_ID_PATTERN.test(callId) && typeof ledgerAccountId === 'string' && addedAt instanceof Date;
}
