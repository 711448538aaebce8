import { invalidAmounts } from '../../billing/ledger/audit.js';
import type { Ledger, LedgerAudit, LedgerAuditStep } from '../../billing/ledger/ledger.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { findingId, type Finding, type Findings } from './findings.js';
import { STEP_BUDGET_MS } from './record-comparison.js';
import type { ReconciliationWalks } from './walks.js';

const ACCOUNTS_AT_ONCE = 100;
/** An account whose entries are counted for longer waits for another turn, so that it does not delay the others. */
const ACCOUNT_BUDGET_MS = 3_000;
const DAY_MS = 86_400_000;

/** Compares ledger accounts with the sums of their operations. */
export function createAccountAudits(deps: {
  ledger: Pick<Ledger, 'sweep' | 'auditNew' | 'auditAgain' | 'recount'>;
  walks: Pick<ReconciliationWalks, 'nextAccounts'>;
  findings: Pick<Findings, 'end'>;
  /** Records a finding. @returns whether it is new */
  report: (finding: Finding) => Promise<boolean>;
  logger: Pick<Logger, 'info'>;
}) {
  const { ledger, walks, findings, report, logger } = deps;

  /**
   * Audits an account. Only a difference that is new, or has ended, and a recount that fails need all of its operations,
   * which may be millions, so they are counted in steps. Nothing is reported before they are compared. A known difference is
   * reported each time: the finding decides whether it was resolved.
   * @returns whether a new mismatch was found; `unfinished` if entries are left to count
   */
  async function auditAccount(id: string): Promise<boolean | 'unfinished'> {
    await ledger.sweep(id);
    let audit = await ledger.auditNew(id);
    if (needsConfirmation(audit) || (isTrusting(audit) && !(await ledger.recount(id)))) {
      audit = await ledger.auditAgain(id);
    }
    if (audit === 'unfinished') return audit;
    if (!audit.balanced) return report(unbalanced(id, audit));
    if (audit.confirmed) await findings.end(findingId({ kind: 'account_unbalanced', ledgerAccountId: id }));
    return false;
  }

  /** Takes steps of an audit until it is finished or its share of the round has passed. The next round continues. */
  async function takeSteps(id: string, deadline: number): Promise<boolean | 'unfinished'> {
    const until = Math.min(deadline, Date.now() + ACCOUNT_BUDGET_MS);
    let result = await auditAccount(id);
    while (result === 'unfinished' && Date.now() < until) result = await auditAccount(id);
    return result;
  }

  return {
    /** Audits the next accounts. If time is left after the last one, those with entries left to count get further turns. */
    async auditLedgerAccounts(): Promise<{ audited: number; found: number }> {
      const deadline = Date.now() + STEP_BUDGET_MS;
      const unfinished: string[] = [];
      let [audited, found, more] = [0, 0, true];
      const take = async (id: string) => {
        const result = await takeSteps(id, deadline);
        if (result === 'unfinished') unfinished.push(id);
        else {
          audited++;
          found += Number(result);
        }
      };
      while (more && Date.now() < deadline) {
        const step = await walks.nextAccounts(ACCOUNTS_AT_ONCE);
        for (const id of step.ids) {
          if (Date.now() >= deadline) break;
          // Advance the stored position first, so that an account that cannot be read does not block those after it.
          await step.advance(id);
          await take(id);
        }
        more = step.hasMore;
      }
      while (Date.now() < deadline) {
        const id = unfinished.shift();
        if (id === undefined) break;
        await take(id);
      }
      for (const ledgerAccountId of unfinished) {
        logger.info({ ledgerAccountId }, 'audit of a ledger account continues in the next round');
      }
      return { audited, found };
    },
  };
}

/** Whether an audit has found a difference, or the end of one, that only the sums of earlier audits show. */
function needsConfirmation(audit: LedgerAuditStep): boolean {
  return isTrusting(audit) && audit.knownDifference !== (audit.balanced ? undefined : 'same');
}

/** Whether an audit is finished, and trusts the sums of earlier ones. */
function isTrusting(audit: LedgerAuditStep): audit is Exclude<LedgerAuditStep, 'unfinished'> {
  return audit !== 'unfinished' && !audit.confirmed;
}

/**
 * Builds the finding for an account that failed its audit. The audit also checks prices, the day's spending and the signs
 * of the amounts, so the amounts may all be those of the operations. The spending has its day in its name, because the
 * same amount on another day is another difference.
 */
function unbalanced(ledgerAccountId: string, { operations, account, spending, mispriced }: LedgerAudit): Finding {
  const spent = `spentOn${dateOf(spending.day)}Micros`;
  const isSpendingWrong = spending.account !== spending.operations;
  const invalid = invalidAmounts(account);
  return {
    kind: 'account_unbalanced',
    ledgerAccountId,
    expected: {
      ...operations,
      ...(mispriced > 0 ? { mispricedOperations: 0 } : {}),
      ...(isSpendingWrong ? { [spent]: spending.operations } : {}),
      ...(invalid.length > 0 ? { invalidAmounts: 'none' } : {}),
    },
    actual: {
      ...account,
      ...(mispriced > 0 ? { mispricedOperations: mispriced } : {}),
      ...(isSpendingWrong ? { [spent]: spending.account } : {}),
      ...(invalid.length > 0 ? { invalidAmounts: invalid.join(', ') } : {}),
    },
  };
}

/** @param day in days since 1970-01-01; a damaged account may have anything else */
function dateOf(day: number): string {
  const date = new Date(day * DAY_MS);
  return Number.isNaN(date.getTime()) ? String(day) : date.toISOString().slice(0, 10);
}
