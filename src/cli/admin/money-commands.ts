import { Option, type Command } from 'commander';
import { moment, paymentId, usd, wholeNumber } from '../arguments.js';
import type { RunOnDatabase } from './connect.js';

const MODES = ['live', 'test'];

export function addMoneyCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./money.js');
  admin
    .command('topup')
    .description('credit an account; a repeated payment id credits nothing more')
    .argument('<account_id>')
    .argument('<usd>', 'like 25 or 0.15', usd)
    .addOption(new Option('--mode <mode>', 'which of its balances').choices(MODES).default('live'))
    .option('--payment-id <id>', 'makes a repeat harmless (default: a new one)', paymentId)
    .action((id, micros, options) => run(async () => (await load()).topUpAccount, id, micros, options));
  admin
    .command('correct')
    .description('give back what a call was billed too much; a repeated reference gives back nothing more')
    .argument('<call_id>')
    .argument('<usd>', 'like 0.15, at most what the call was billed', usd)
    .requiredOption('--reason <text>', 'what was wrong; the owner of the account reads it')
    .requiredOption('--reference <id>', 'makes a repeat harmless, like a ticket number')
    .action((id, micros, options) =>
      run(async () => (await import('./corrections.js')).correctCall, id, micros, options),
    );
  admin
    .command('balance <account_id>')
    .description('what an account has, holds and was billed')
    .addOption(new Option('--mode <mode>', 'only this balance').choices(MODES))
    .action((id, options) => run(async () => (await load()).showBalanceOf, id, options));
  admin
    .command('refill <account_id>')
    .description('bring the test balance back to 1,000 USD')
    .action((id) => run(async () => (await load()).refill, id));
  const loadStatements = () => import('./statements.js');
  const ofPeriod = (command: Command) =>
    command
      .addOption(new Option('--mode <mode>', 'which of its balances').choices(MODES).default('live'))
      .option('--from <time>', 'begin of the period (UTC), like 2026-11-01 or 2026-11-01T12:00:00Z', moment)
      .option('--to <time>', 'end of the period (UTC), not included', moment)
      .option('--csv', 'print CSV');
  ofPeriod(admin.command('ledger <account_id>').description('what moved the money of an account, newest first'))
    .option('--limit <n>', 'entries at most (default: 50; with --csv all)', wholeNumber)
    .action((id, options) => run(async () => (await loadStatements()).showLedgerOf, id, options));
  ofPeriod(
    admin.command('usage <account_id>').description('what calls have cost; the last 30 days if no period is given'),
  )
    .addOption(new Option('--group-by <what>', 'one line for each').choices(['day', 'agent']).default('day'))
    .action((id, options) => run(async () => (await loadStatements()).showUsageOf, id, options));
  admin
    .command('audit [account_id]')
    .description('compare every ledger account with the sum of its operations; exit 1 on a mismatch')
    .action((id) => run(async () => (await load()).auditLedger, id));
}

export function addReconciliationCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./reconciliation.js');
  admin
    .command('reconcile')
    .description('compare accounts, holds and calls now instead of within the minute; exit 1 if findings are open')
    .action(() => run(async () => (await load()).reconcile));
  const findings = admin.command('findings').description('mismatches that reconciliation found');
  findings
    .command('list')
    .description('findings that wait for somebody, oldest first')
    .option('--all', 'resolved ones, too')
    .action((options) => run(async () => (await load()).listFindings, options));
  findings
    .command('resolve <finding_id>')
    .description('close a finding; its account takes calls again when none is open')
    .requiredOption('--reason <text>', 'why it is closed; kept with it')
    .option('--recount', 'count the places of the account anew, for a finding of miscounted places')
    .option('--credit <usd>', 'give this much back to the account, as a correction for the call of the finding', usd)
    .action((id, options) => run(async () => (await load()).resolveFinding, id, options));
}
