import { Option, type Command } from 'commander';
import { ROLES } from '../../kernel/access.js';
import type { Plan } from '../../identity/accounts/model.js';
import { clearOption, withAgentFields } from '../agent-options.js';
import {
  parseDestinationCaps,
  parseExpiry,
  parseIdOrNone,
  parsePhoneNumber,
  parsePrefixes,
  parseUsdOrNone,
  parseWholeNumberOrDefault,
  parseWholeNumberOrNone,
} from '../arguments.js';
import type { CliProcess } from '../run.js';
import type { RunOnDatabase } from './connect.js';
import { addAuditCommand, addMoneyCommands, addReconciliationCommands } from './money-commands.js';

const PLANS = ['trial', 'standard', 'growth', 'scale'] as const satisfies readonly Plan[];
const MODES = ['live', 'test'];

/** Adds `callwright admin …`: operator commands that work directly on the database. */
export function addAdminCommands(program: Command, process: CliProcess): void {
  const admin = program
    .command('admin')
    .description('operator commands that use the database: accounts, keys, money, reconciliation')
    .addHelpText('after', '\nUses the database of MONGODB_URI, or of the service that runs from this folder.');
  const runWith =
    (options: { needsPepper: boolean }): RunOnDatabase =>
    async (load, ...args) => {
      const [{ withDatabase }, { createOutput }, command] = await Promise.all([
        import('./connect.js'),
        import('../output.js'),
        load(),
      ]);
      const out = createOutput(process, program.opts<{ json?: boolean }>().json === true);
      await withDatabase(process.env, options, (on) => command(on, out, ...args));
    };
  const run = runWith({ needsPepper: true });
  addAccountCommands(admin, run);
  addKeyCommands(admin, run);
  addAgentCommands(admin, run);
  addNumberCommands(admin, run);
  addMemberCommands(admin, run);
  addOperatorCommands(admin, run);
  addMoneyCommands(admin, run);
  addAuditCommand(admin, runWith({ needsPepper: false }));
  addReconciliationCommands(admin, run);
  addSecretCommands(admin, run);
  addCallCommands(admin, run);
  addRecordingCommands(admin, run);
  addCarrierCommands(admin, run);
  addEraseCommand(admin, run);
}

function addAccountCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./accounts.js');
  const accounts = admin.command('accounts').description('manage accounts');
  accounts
    .command('create <name>')
    .description('create an account, with a test balance of 1,000 USD')
    .addOption(new Option('--plan <plan>', 'plan that determines the limits').choices(PLANS).default('trial'))
    .action((name, options) => run(async () => (await load()).createAccount, name, options));
  accounts
    .command('list')
    .description('list all accounts')
    .action(() => run(async () => (await load()).listAccounts));
  accounts
    .command('show <account_id>')
    .description('show one account')
    .action((id) => run(async () => (await load()).showAccount, id));
  accounts
    .command('limits <account_id>')
    .description('show or update the limits of an account')
    .addOption(new Option('--plan <plan>', 'move to another plan').choices(PLANS))
    .option('--requests-per-minute <n>', 'per API key; "default" for the value of the plan', parseWholeNumberOrDefault)
    .option(
      '--concurrent-calls <n>',
      'maximum concurrent calls; "default" for the value of the plan',
      parseWholeNumberOrDefault,
    )
    .option(
      '--daily-spend-cap <usd>',
      'per UTC day and mode; "default" for the default of the service, "none" for no limit',
      parseUsdOrNone,
    )
    .option(
      '--unanswered-attempts <n>',
      'per number and UTC hour on a real carrier; "default" for the default of the service, "none" for no limit',
      parseWholeNumberOrNone,
    )
    .option(
      '--live-calls-per-day <n>',
      'live calls and transfers per UTC day on a real carrier; "default" for the default of the service, "none" for no limit',
      parseWholeNumberOrNone,
    )
    .option('--allowed-country-prefixes <list>', 'like +1,+44; "all" for no restriction', parsePrefixes)
    .option(
      '--destination-caps <list>',
      'like +1900:5/hour:20/day,+4487:block,+4470:allow; the longest prefix decides; "none" for no rules',
      parseDestinationCaps,
    )
    .action((id, options) => run(async () => (await load()).setLimits, id, options));
  accounts
    .command('inbound-agent <account_id> <agent_id>')
    .description('set the agent for inbound calls; "none" removes it')
    .action((id, agent) => run(async () => (await load()).setInboundAgent, id, parseIdOrNone(agent)));
  accounts
    .command('carrier-pool <account_id> <pool>')
    .description('set the pool of carrier accounts for live calls of an account; "none": the called number decides')
    .action((id, pool) =>
      run(async () => (await import('./carrier-accounts.js')).setCarrierPool, id, parseIdOrNone(pool)),
    );
  addFreezeCommands(accounts, run);
}

function addFreezeCommands(accounts: Command, run: RunOnDatabase): void {
  const load = () => import('./freezes.js');
  const withOptions = (command: Command) =>
    command
      .requiredOption('--reason <text>', 'reason, stored with the freeze')
      .addOption(new Option('--mode <mode>', 'freeze one mode only').choices(MODES));
  withOptions(
    accounts.command('freeze <account_id>').description('reject new calls of an account; calls in progress continue'),
  ).action((id, options) => run(async () => (await load()).freezeAccount, id, options));
  withOptions(
    accounts
      .command('unfreeze <account_id>')
      .description('end a freeze; exit 1 if open findings keep the account frozen'),
  ).action((id, options) => run(async () => (await load()).unfreezeAccount, id, options));
}

function addKeyCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./keys.js');
  const keys = admin.command('keys').description('API keys of an account');
  keys
    .command('create <account_id>')
    .description('create a key; it is shown only once')
    .requiredOption('--name <name>', 'name of the key, such as its use')
    .addOption(new Option('--mode <mode>', 'mode of the key; live keys cost real money').choices(MODES).default('live'))
    .option('--expires <when>', 'a date, or a duration from now like 30d, 12h or 90m', parseExpiry)
    .action((id, options) => run(async () => (await load()).createKeyFor, id, options));
  keys
    .command('list <account_id>')
    .description('list the keys of an account, without their secrets')
    .action((id) => run(async () => (await load()).listKeysOf, id));
  keys
    .command('former-peppers')
    .description('list the keys of all accounts that stop working when API_KEY_FORMER_PEPPERS is removed')
    .action(() => run(async () => (await load()).listKeysOfFormerPeppers));
  keys
    .command('revoke <key_id>')
    .description('revoke a key; calls in progress continue')
    .action((id) => run(async () => (await load()).revokeKeyById, id));
}

function addAgentCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./agents.js');
  const agents = admin.command('agents').description('manage agents of an account');
  withAgentFields(
    agents
      .command('create <account_id>')
      .description('create an agent')
      .requiredOption('--name <name>', 'descriptive name'),
  ).action((id, options) => run(async () => (await load()).createAgentFor, id, options));
  agents
    .command('list <account_id>')
    .description('list the agents of an account')
    .action((id) => run(async () => (await load()).listAgentsOf, id));
  agents
    .command('show <agent_id>')
    .description('show one agent with its instruction')
    .action((id) => run(async () => (await load()).showAgent, id));
  withAgentFields(
    agents
      .command('update <agent_id>')
      .description('update an agent; calls in progress are not affected')
      .option('--name <name>', 'descriptive name'),
  )
    .addOption(clearOption())
    .action((id, options) => run(async () => (await load()).updateAgentById, id, options));
}

function addNumberCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./numbers.js');
  const numbers = admin.command('numbers').description('manage phone numbers of an account');
  numbers
    .command('add <account_id> <number>')
    .description('add a number (E.164) to an account')
    .option('--agent <agent_id>', 'agent for this number instead of the inbound agent of the account')
    .option('--carrier-account <name>', 'carrier account that has the number; "default" if absent')
    .action((id, number, options) => run(async () => (await load()).addNumberTo, id, number, options));
  numbers
    .command('list <account_id>')
    .description('list the numbers of an account; calls are placed from the first one')
    .action((id) => run(async () => (await load()).listNumbersOf, id));
  numbers
    .command('agent <number> <agent_id>')
    .description('assign an agent to a number; "none" for the inbound agent of the account')
    .action((number, agent) => run(async () => (await load()).setAgentOfNumber, number, parseIdOrNone(agent)));
  numbers
    .command('carrier-account <number> <name>')
    .description('set the carrier account that has a number, which calls from the number use')
    .action((number, name) => run(async () => (await load()).setCarrierAccountOfNumber, number, name));
}

function addOperatorCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./operators.js');
  const operators = admin
    .command('operators')
    .description('manage members who see the Temporal UI address in the portal');
  operators
    .command('add <email>')
    .description('make a member an operator')
    .action((email) => run(async () => (await load()).addOperator, email));
  operators
    .command('list')
    .description('list all operators')
    .action(() => run(async () => (await load()).listOperators));
  operators
    .command('remove <email>')
    .description('remove the operator permission of a member')
    .action((email) => run(async () => (await load()).removeOperator, email));
}

function addSecretCommands(admin: Command, run: RunOnDatabase): void {
  admin
    .command('secrets')
    .description('manage secrets encrypted with ENCRYPTION_KEYS')
    .command('reseal')
    .description('re-encrypt all secrets with the newest key after a rotation; exit 1 if one cannot be read')
    .action(() => run(async () => (await import('./secrets.js')).reseal));
}

function addCallCommands(admin: Command, run: RunOnDatabase): void {
  const calls = admin.command('calls').description('manage stored calls');
  calls
    .command('trace <call_id>')
    .description('print the trace id of a call, its account, and the ids of its request and at the carrier')
    .action((callId: string) => run(async () => (await import('./calls.js')).traceCall, callId));
  calls
    .command('index')
    .description('make calls from before version 0.2.0 findable by search; safe to repeat')
    .action(() => run(async () => (await import('./calls.js')).indexCalls));
}

function addRecordingCommands(admin: Command, run: RunOnDatabase): void {
  admin
    .command('recordings')
    .description('manage recordings in object storage')
    .command('orphans')
    .description('find recordings without a file in the database, which a restore of the database leaves')
    .option('--delete', 'delete them; this cannot be undone')
    .action((options) => run(async () => (await import('./calls.js')).orphanedRecordings, options));
}

function addCarrierCommands(admin: Command, run: RunOnDatabase): void {
  admin
    .command('carriers')
    .description('carrier accounts and pools of the configuration')
    .command('list')
    .description('list the accounts of live calls, with their pools')
    .action(() => run(async () => (await import('./carrier-accounts.js')).listCarrierAccounts));
}

function addEraseCommand(admin: Command, run: RunOnDatabase): void {
  admin
    .command('erase')
    .description('erase a phone number or an account for good; without --confirm, show what would be erased')
    .option('--phone <number>', 'phone number (E.164), of any account', parsePhoneNumber)
    .option('--account <account_id>', 'account with its calls, agents, numbers, members and keys')
    .option('--confirm', 'erase; this cannot be undone')
    .option('--unsure', 'with --phone: count digits as the number that may be something else, such as a date')
    .action((options) => run(async () => (await import('./erase.js')).erase, options));
}

function addMemberCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./members.js');
  const members = admin.command('members').description('manage members of an account and create links for them');
  const withRole = (command: Command, role: string) =>
    command.addOption(new Option('--role <role>', 'role of the member').choices(ROLES).default(role));
  withRole(
    members
      .command('create <account_id> <email>')
      .description('create a member and print, only once, a link to choose a password')
      .requiredOption('--name <name>', 'name of the person'),
    'owner',
  ).action((id, email, options) => run(async () => (await load()).createMember, id, email, options));
  members
    .command('list <account_id>')
    .description('list the members of an account')
    .action((id) => run(async () => (await load()).listMembers, id));
  withRole(
    members
      .command('invite <account_id> <email>')
      .description('create an invitation and print its link, only once (SIGN_UP must not be off)'),
    'owner',
  ).action((id, email, options) => run(async () => (await load()).inviteMember, id, email, options));
  members
    .command('reset-link <email>')
    .description('print a link to reset the password of a member')
    .action((email) => run(async () => (await load()).resetLink, email));
  members
    .command('verify-link <email>')
    .description('print a link to verify the e-mail address of its latest sign-up')
    .action((email) => run(async () => (await load()).verifyLink, email));
}
