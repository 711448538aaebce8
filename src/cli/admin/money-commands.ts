import { Option, type Command } from 'commander';
import { parseTime, parsePaymentId, parseUsd, parseWholeNumber } from '../arguments.js';
import type { RunOnDatabase } from './connect.js';

const MODES = ['live', 'test'];

export function addMoneyCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./money.js');
  admin
    .command('topup')
    .description('credit an account; repeating a payment id credits nothing more')
    .argument('<account_id>')
    .argument('<usd>', 'like 25 or 0.15', parseUsd)
    .addOption(new Option('--mode <mode>', 'balance to use').choices(MODES).default('live'))
    .option('--payment-id <id>', 'makes the command safe to repeat (default: a new id)', parsePaymentId)
    .action((id, micros, options) => run(async () => (await load()).topUpAccount, id, micros, options));
  admin
    .command('correct')
    .description('credit a part of the bill of a call; repeating a reference credits nothing more')
    .argument('<call_id>')
    .argument('<usd>', 'amount like 0.15, at most what the call was billed', parseUsd)
    .requiredOption('--reason <text>', 'reason, visible to the account')
    .requiredOption('--reference <id>', 'makes the command safe to repeat, such as a ticket number')
    .action((id, micros, options) =>
      run(async () => (await import('./corrections.js')).correctCall, id, micros, options),
    );
  admin
    .command('balance <account_id>')
    .description('show available, held, credited and billed amounts of an account')
    .addOption(new Option('--mode <mode>', 'one balance only').choices(MODES))
    .action((id, options) => run(async () => (await load()).showBalanceOf, id, options));
  admin
    .command('refill <account_id>')
    .description('reset the test balance to 1,000 USD')
    .action((id) => run(async () => (await load()).refill, id));
  const loadStatements = () => import('./statements.js');
  const ofPeriod = (command: Command) =>
    command
      .addOption(new Option('--mode <mode>', 'balance to use').choices(MODES).default('live'))
      .option('--from <time>', 'start of the period (UTC), like 2026-11-01 or 2026-11-01T12:00:00Z', parseTime)
      .option('--to <time>', 'end of the period (UTC), exclusive', parseTime)
      .option('--csv', 'print CSV');
  ofPeriod(admin.command('ledger <account_id>').description('list ledger entries of an account, newest first'))
    .option('--limit <n>', 'maximum entries (default: 50; with --csv all)', parseWholeNumber)
    .action((id, options) => run(async () => (await loadStatements()).showLedgerOf, id, options));
  ofPeriod(admin.command('usage <account_id>').description('show usage; the last 30 days by default'))
    .addOption(new Option('--group-by <what>', 'group rows by day or agent').choices(['day', 'agent']).default('day'))
    .action((id, options) => run(async () => (await loadStatements()).showUsageOf, id, options));
}

export function addAuditCommand(admin: Command, run: RunOnDatabase): void {
  admin
    .command('audit [account_id]')
    .description('compare ledger accounts with the sum of their operations; exit 1 on a mismatch')
    .action((id) => run(async () => (await import('./money.js')).auditLedger, id));
}

export function addReconciliationCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./reconciliation.js');
  admin
    .command('reconcile')
    .description('compare accounts, holds and calls now instead of once a minute; exit 1 if findings are open')
    .action(() => run(async () => (await load()).reconcile));
  const findings = admin.command('findings').description('manage findings of the reconciliation');
  findings
    .command('list')
    .description('list open findings, oldest first')
    .option('--all', 'include resolved findings')
    .action((options) => run(async () => (await load()).listFindings, options));
  findings
    .command('resolve <finding_id>')
    .description('resolve a finding; its account accepts calls again when none is open')
    .requiredOption('--reason <text>', 'reason, stored with the finding')
    .option('--recount', 'recount the concurrency slots of the account, for a finding places_miscounted')
    .option('--credit <usd>', 'credit this amount as a correction of the call of the finding', parseUsd)
    .action((id, options) => run(async () => (await load()).resolveFinding, id, options));
}
