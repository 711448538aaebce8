import { Command, Option } from 'commander';
import type { Config } from '../config.js';
import { ENGINE_NAMES } from '../domain/engines.js';
import { VOICEMAIL_ACTIONS } from '../domain/voicemail.js';
import type { Plan } from '../store/models/account.js';
import {
  destinationCaps,
  expiry,
  idOrNone,
  moment,
  prefixes,
  usd,
  usdOrNone,
  wholeNumber,
  wholeNumberOrDefault,
} from './arguments.js';
import type { Connection } from './connect.js';
import type { Output } from './output.js';
import type { CliProcess } from './run.js';

const PLANS = ['trial', 'standard', 'growth', 'scale'] as const satisfies readonly Plan[];
const MODES = ['live', 'test'];
const CLEARABLE = [
  'output-parameters',
  'webhook-url',
  'phone-number',
  'engine',
  'voicemail',
  'voicemail-message',
  'transfer-numbers',
  'tools',
];

/** Runs a command on the database; what it needs is loaded only now, so that help is there at once. */
type Run = <A extends unknown[]>(
  load: () => Promise<(on: Connection, out: Output, ...args: A) => Promise<void>>,
  ...args: A
) => Promise<void>;

/** Runs a command that needs the configuration and nothing else. */
type RunOnConfig = (load: () => Promise<(config: Config, out: Output) => Promise<void>>) => Promise<void>;

/** The `callwright` command line: usage errors exit 2, failures 1. */
export function createProgram(process: CliProcess): Command {
  const program = new Command('callwright')
    .description('Places and receives phone calls conducted by an AI agent.')
    .option('--json', 'print JSON instead of tables')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void process.stdout.write(text),
      writeErr: (text) => void process.stderr.write(text),
    })
    .showHelpAfterError('(--help shows how it is used)')
    .exitOverride();
  const run: Run = async (load, ...args) => {
    const [{ withDatabase }, { createOutput }, command] = await Promise.all([
      import('./connect.js'),
      import('./output.js'),
      load(),
    ]);
    const out = createOutput(process, program.opts<{ json?: boolean }>().json === true);
    await withDatabase(process.env, (on) => command(on, out, ...args));
  };
  const runOnConfig: RunOnConfig = async (load) => {
    const [{ parseConfig }, { createOutput }, command] = await Promise.all([
      import('../config.js'),
      import('./output.js'),
      load(),
    ]);
    await command(parseConfig(process.env), createOutput(process, program.opts<{ json?: boolean }>().json === true));
  };
  addServiceCommands(program, process);
  addAccountCommands(program, run);
  addKeyCommands(program, run);
  addAgentCommands(program, run);
  addVoiceCommands(program, runOnConfig);
  addNumberCommands(program, run);
  addMoneyCommands(program, run);
  addReconciliationCommands(program, run);
  return program;
}

function addServiceCommands(program: Command, process: CliProcess): void {
  program
    .command('dev')
    .description('start everything on this machine, with embedded servers where none are named')
    .action(async () => (await import('../launch/dev.js')).runDev(process.env));
  program
    .command('demo')
    .description('place one outbound and one inbound call with real audio, and show all of it')
    .action(async () => (await import('../launch/demo.js')).runDemo(process.env));
  program
    .command('reset')
    .description('clear the state that dev keeps in its data folder')
    .action(async () => (await import('../launch/reset.js')).runReset(process.env));
}

function addAccountCommands(program: Command, run: Run): void {
  const load = () => import('./commands/accounts.js');
  const accounts = program.command('accounts').description('customers of the service');
  accounts
    .command('create <name>')
    .description('create an account, with a test balance of 1,000 USD')
    .addOption(new Option('--plan <plan>', 'decides its limits').choices(PLANS).default('trial'))
    .action((name, options) => run(async () => (await load()).createAccount, name, options));
  accounts
    .command('list')
    .description('every account')
    .action(() => run(async () => (await load()).listAccounts));
  accounts
    .command('show <account_id>')
    .description('one account')
    .action((id) => run(async () => (await load()).showAccount, id));
  accounts
    .command('limits <account_id>')
    .description('show the limits of one account, or change them')
    .addOption(new Option('--plan <plan>', 'move to another plan').choices(PLANS))
    .option('--requests-per-minute <n>', 'per API key; "default" for what the plan says', wholeNumberOrDefault)
    .option('--concurrent-calls <n>', 'at one time; "default" for what the plan says', wholeNumberOrDefault)
    .option('--daily-spend-cap <usd>', 'per UTC day and mode; "none" for no limit', usdOrNone)
    .option('--allowed-country-prefixes <list>', 'like +1,+44; "all" for no restriction', prefixes)
    .option(
      '--destination-caps <list>',
      'like +1900:5/hour:20/day,+4487:block,+4470:allow; the longest prefix decides; "none" for no rules',
      destinationCaps,
    )
    .action((id, options) => run(async () => (await load()).setLimits, id, options));
  accounts
    .command('inbound-agent <account_id> <agent_id>')
    .description('name the agent that takes inbound calls; "none" for nobody')
    .action((id, agent) => run(async () => (await load()).setInboundAgent, id, idOrNone(agent)));
  addFreezeCommands(accounts, run);
}

function addFreezeCommands(accounts: Command, run: Run): void {
  const load = () => import('./commands/freezes.js');
  const withOptions = (command: Command) =>
    command
      .requiredOption('--reason <text>', 'for people; kept')
      .addOption(new Option('--mode <mode>', 'only this one').choices(MODES));
  withOptions(
    accounts.command('freeze <account_id>').description('refuse new calls of an account; calls that run go on'),
  ).action((id, options) => run(async () => (await load()).freezeAccount, id, options));
  withOptions(
    accounts
      .command('unfreeze <account_id>')
      .description('end a freeze; open findings keep their account frozen, exit 1 then'),
  ).action((id, options) => run(async () => (await load()).unfreezeAccount, id, options));
}

function addKeyCommands(program: Command, run: Run): void {
  const load = () => import('./commands/keys.js');
  const keys = program.command('keys').description('API keys of an account');
  keys
    .command('create <account_id>')
    .description('create a key; it is shown once')
    .requiredOption('--name <name>', 'what it is for')
    .addOption(new Option('--mode <mode>', 'live moves real money').choices(MODES).default('live'))
    .option('--expires <when>', 'a date, or a time from now like 30d, 12h or 90m', expiry)
    .action((id, options) => run(async () => (await load()).createKey, id, options));
  keys
    .command('list <account_id>')
    .description('the keys of an account, without their secrets')
    .action((id) => run(async () => (await load()).listKeys, id));
  keys
    .command('revoke <key_id>')
    .description('end a key; calls that run go on')
    .action((id) => run(async () => (await load()).revokeKey, id));
}

function addAgentCommands(program: Command, run: Run): void {
  const load = () => import('./commands/agents.js');
  const agents = program.command('agents').description('AI assistants of an account');
  const withFields = (command: Command) =>
    command
      .option('--instruction <text>', 'the prompt that defines its behaviour')
      .addOption(new Option('--instruction-file <file>', 'the prompt, from a file').conflicts('instruction'))
      .option('--voice <voice>', 'one that "callwright voices" lists')
      .option('--language <tag>', 'of the conversation, like en-US; one that the voice speaks')
      .addOption(new Option('--engine <engine>', 'conducts its live calls (default: ENGINE)').choices(ENGINE_NAMES))
      .option('--ai-disclosure', 'say in the first sentence that an AI is speaking (default)')
      .option('--no-ai-disclosure', 'say so only when asked')
      .addOption(new Option('--voicemail <action>', 'what to do with a mailbox').choices(VOICEMAIL_ACTIONS))
      .option('--voicemail-message <text>', 'what leave_message says after the tone')
      .option('--transfer-number <number...>', 'the only numbers it may put a call through to; replaces the list')
      .option('--tools-file <file>', 'a JSON list of its HTTP tools; replaces the list')
      .option('--output-parameters <json>', 'data to extract: a JSON object of null, boolean, number or string values')
      .option('--max-duration <seconds>', '30 to 14400', wholeNumber)
      .option('--ring-timeout <seconds>', '5 to 120', wholeNumber)
      .option('--webhook-url <url>', 'receives the completion event of its calls')
      .option('--phone-number <number>', 'a number of the account that it calls from');
  withFields(
    agents
      .command('create <account_id>')
      .description('create an agent')
      .requiredOption('--name <name>', 'descriptive name'),
  ).action((id, options) => run(async () => (await load()).createAgent, id, options));
  agents
    .command('list <account_id>')
    .description('the agents of an account')
    .action((id) => run(async () => (await load()).listAgents, id));
  agents
    .command('show <agent_id>')
    .description('one agent with its instruction')
    .action((id) => run(async () => (await load()).showAgent, id));
  withFields(
    agents
      .command('update <agent_id>')
      .description('change an agent; running calls keep it as it was')
      .option('--name <name>', 'descriptive name'),
  )
    .addOption(new Option('--clear <field...>', 'remove an optional field').choices(CLEARABLE))
    .action((id, options) => run(async () => (await load()).updateAgent, id, options));
}

function addVoiceCommands(program: Command, run: RunOnConfig): void {
  const load = () => import('./commands/voices.js');
  program
    .command('voices')
    .description('the voices that agents may have, by engine')
    .action(() => run(async () => (await load()).listVoices));
  program
    .command('languages')
    .description('the languages that agents may speak, by engine')
    .action(() => run(async () => (await load()).listLanguages));
}

function addNumberCommands(program: Command, run: Run): void {
  const load = () => import('./commands/numbers.js');
  const numbers = program.command('numbers').description('phone numbers of an account');
  numbers
    .command('add <account_id> <number>')
    .description('give a number (E.164) to an account')
    .option('--agent <agent_id>', 'answers this number in place of the inbound agent of the account')
    .action((id, number, options) => run(async () => (await load()).addNumber, id, number, options));
  numbers
    .command('list <account_id>')
    .description('the numbers of an account; calls are placed from the first')
    .action((id) => run(async () => (await load()).listNumbers, id));
  numbers
    .command('agent <number> <agent_id>')
    .description('name the agent that answers this number; "none" for the inbound agent of the account')
    .action((number, agent) => run(async () => (await load()).setNumberAgent, number, idOrNone(agent)));
}

function addMoneyCommands(program: Command, run: Run): void {
  const load = () => import('./commands/money.js');
  program
    .command('topup')
    .description('credit an account; a repeated payment id credits nothing more')
    .argument('<account_id>')
    .argument('<usd>', 'like 25 or 0.15', usd)
    .addOption(new Option('--mode <mode>', 'which of its balances').choices(MODES).default('live'))
    .option('--payment-id <id>', 'makes a repeat harmless (default: a new one)')
    .action((id, micros, options) => run(async () => (await load()).topUp, id, micros, options));
  program
    .command('correct')
    .description('give back what a call was billed too much; a repeated reference gives back nothing more')
    .argument('<call_id>')
    .argument('<usd>', 'like 0.15, at most what the call was billed', usd)
    .requiredOption('--reason <text>', 'what was wrong; the owner of the account reads it')
    .requiredOption('--reference <id>', 'makes a repeat harmless, like a ticket number')
    .action((id, micros, options) =>
      run(async () => (await import('./commands/corrections.js')).correctCall, id, micros, options),
    );
  program
    .command('balance <account_id>')
    .description('what an account has, holds and was billed')
    .addOption(new Option('--mode <mode>', 'only this balance').choices(MODES))
    .action((id, options) => run(async () => (await load()).showBalance, id, options));
  program
    .command('refill <account_id>')
    .description('bring the test balance back to 1,000 USD')
    .action((id) => run(async () => (await load()).refill, id));
  const loadStatements = () => import('./commands/statements.js');
  const ofPeriod = (command: Command) =>
    command
      .addOption(new Option('--mode <mode>', 'which of its balances').choices(MODES).default('live'))
      .option('--from <time>', 'begin of the period (UTC), like 2026-11-01 or 2026-11-01T12:00:00Z', moment)
      .option('--to <time>', 'end of the period (UTC), not included', moment)
      .option('--csv', 'print CSV');
  ofPeriod(program.command('ledger <account_id>').description('what moved the money of an account, newest first'))
    .option('--limit <n>', 'entries at most (default: 50; with --csv all)', wholeNumber)
    .action((id, options) => run(async () => (await loadStatements()).showLedger, id, options));
  ofPeriod(
    program.command('usage <account_id>').description('what calls have cost; the last 30 days if no period is given'),
  )
    .addOption(new Option('--group-by <what>', 'one line for each').choices(['day', 'agent']).default('day'))
    .action((id, options) => run(async () => (await loadStatements()).showUsage, id, options));
  program
    .command('audit [account_id]')
    .description('compare every ledger account with the sum of its operations; exit 1 on a mismatch')
    .action((id) => run(async () => (await load()).auditLedger, id));
}

function addReconciliationCommands(program: Command, run: Run): void {
  const load = () => import('./commands/reconciliation.js');
  program
    .command('reconcile')
    .description('compare accounts, holds and calls now instead of within the minute; exit 1 if findings are open')
    .action(() => run(async () => (await load()).reconcile));
  const findings = program.command('findings').description('mismatches that reconciliation found');
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
