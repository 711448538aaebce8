import { userInfo } from 'node:os';
import { reconcileNow } from '../../calls/reconciliation/schedule.js';
import { invalidReason } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import { ownerOfLedgerAccount } from '../../kernel/ids.js';
import { usdFromMicros, type Micros } from '../../kernel/money.js';
import { readCorrections } from '../../billing/call-corrections.js';
import { createAccountFreezes } from '../../calls/reconciliation/account-freezes.js';
import { createFindings } from '../../calls/reconciliation/findings.js';
import { createLeases } from '../../billing/leases.js';
import { createLedger } from '../../billing/ledger/ledger.js';
import type { FindingDocument, FindingFacts } from '../../calls/reconciliation/model.js';
import type { AdminConnection } from './connect.js';
import { formatUsd, type Output } from '../output.js';
import { CliError } from '../run.js';
import { findingView } from './views.js';

const ROUND_TIMEOUT_MS = 120_000;
const MAX_REASON_LENGTH = 500;

/**
 * Runs one reconciliation round now and shows its findings.
 * @throws CliError when the round fails or findings are open
 */
export async function reconcile({ config, database }: AdminConnection, out: Output) {
  const round = await reconcileNow(config, ROUND_TIMEOUT_MS).catch((error: unknown) => {
    const reason = error instanceof Error ? ((error.cause as Error | undefined)?.message ?? error.message) : '';
    throw new CliError(`The reconciliation could not run (Temporal at ${config.temporal.address}): ${reason}`);
  });
  const open = await createFindings(database).list();
  await out.record(
    open.length === 0 ? 'No open findings.' : 'Findings are open; see `callwright admin findings list`.',
    {
      audited_accounts: round.auditedAccounts,
      compared_calls: round.comparedCalls,
      broken_records: round.brokenRecords,
      ended_calls: round.endedCalls,
      corrected_bills: round.correctedBills,
      released_places: round.releasedLeases,
      new_findings: round.newFindings,
      open_findings: open.length,
      ...(out.json ? { findings: open.map(findingView) } : {}),
    },
  );
  if (!out.json && open.length > 0) await showFindings(out, open);
  if (open.length > 0) throw new CliError(`${open.length} findings are open.`);
}

export async function listFindings({ database }: AdminConnection, out: Output, options: { all?: boolean }) {
  await showFindings(out, await createFindings(database).list({ all: options.all === true }));
}

/**
 * Resolves a finding, optionally with a correction or a recount. Resolving the last open finding unfreezes the account.
 */
export async function resolveFinding(
  { database }: AdminConnection,
  out: Output,
  id: string,
  options: { reason: string; credit?: Micros; recount?: boolean },
) {
  const findings = createFindings(database);
  const ledger = createLedger(database);
  const reason = options.reason.trim();
  if (reason === '' || reason.length > MAX_REASON_LENGTH) {
    throw invalidReason(MAX_REASON_LENGTH);
  }
  const finding = await findings.find(id);
  if (!finding) throw new ServiceError('NOT_FOUND', `There is no finding ${id}.`);
  if (finding.resolvedAt) throw new CliError(`The finding ${id} is already resolved.`);
  const { ledgerAccountId, callId } = finding;
  if (options.recount === true && finding.kind !== 'places_miscounted') {
    throw new ServiceError('MISSING_PARAMS', '--recount applies only to a finding places_miscounted.');
  }
  if (options.credit !== undefined) {
    if (callId === undefined) {
      throw new ServiceError(
        'MISSING_PARAMS',
        '--credit applies only to findings of a call. To credit an account, use callwright admin topup.',
      );
    }
    await ledger.sweep(ledgerAccountId);
    const { number } = await readCorrections(database, callId, reason);
    await ledger.correct({ ledgerAccountId, callId, number, amountMicros: options.credit, reason });
  }
  if (options.recount === true) await createLeases(database).recount(ownerOfLedgerAccount(ledgerAccountId));
  await findings.resolve({ id, by: userInfo().username, reason });
  const frozen = !(await createAccountFreezes({ database, findings, ledger }).lift(ledgerAccountId));
  const still = 'Finding resolved. The account stays frozen by other findings or an operator.';
  await out.record(frozen ? still : 'Resolved.', {
    finding_id: id,
    ledger_account_id: ledgerAccountId,
    frozen,
    ...(options.credit === undefined
      ? {}
      : { credited_usd: usdFromMicros(options.credit), credited_micros: options.credit }),
    reason,
  });
}

async function showFindings(out: Output, findings: readonly FindingDocument[]): Promise<void> {
  await out.table(
    findings.map(findingView),
    {
      finding_id: 'Finding',
      ledger_account_id: 'Ledger account',
      first_seen_at: 'First seen',
      expected: 'Expected',
      actual: 'Actual',
      state: 'State',
    },
    findings.map((finding) => ({
      ...findingView(finding),
      expected: factsOf(finding.expected),
      actual: factsOf(finding.actual),
      state: finding.resolvedAt ? `resolved: ${finding.reason ?? ''}` : 'open',
    })),
  );
}

/** Formats one fact per line, with amounts in USD. */
function factsOf(facts: FindingFacts): string {
  return Object.entries(facts)
    .map(([name, value]) => {
      const amount = /^(.*)Micros$/.exec(name)?.[1];
      return amount !== undefined && typeof value === 'number'
        ? `${amount} ${formatUsd(value)} USD`
        : `${name} ${String(value)}`;
    })
    .join('\n');
}
