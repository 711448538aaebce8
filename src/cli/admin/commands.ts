import { Option, type Command } from 'commander';
import { ROLES } from '../../kernel/access.js';
import type { Plan } from '../../identity/accounts/model.js';
import { clearOption, withAgentFields } from '../agent-options.js';
import {
  destinationCaps,
  expiry,
  idOrNone,
  prefixes,
  usdOrNone,
  wholeNumberOrDefault,
  wholeNumberOrNone,
} from '../arguments.js';
import type { CliProcess } from '../run.js';
import type { RunOnDatabase } from './connect.js';
import { addMoneyCommands, addReconciliationCommands } from './money-commands.js';

const PLANS = ['trial', 'standard', 'growth', 'scale'] as const satisfies readonly Plan[];
const MODES = ['live', 'test'];

/** Adds `callwright admin …`: operator commands that work directly on the database. */
export function addAdminCommands(program: Command, process: CliProcess): void {
  const admin = program
    .command('admin')
    .description('for operators, on the database: accounts, keys, money, reconciliation')
    .addHelpText(
      'after',
      '\nThe database is the one of MONGODB_URI, else that of the service which runs from this folder.',
    );
  const run: RunOnDatabase = async (load, ...args) => {
    const [{ withDatabase }, { createOutput }, command] = await Promise.all([
      import('./connect.js'),
      import('../output.js'),
      load(),
    ]);
    const out = createOutput(process, program.opts<{ json?: boolean }>().json === true);
    await withDatabase(process.env, (on) => command(on, out, ...args));
  };
  addAccountCommands(admin, run);
  addKeyCommands(admin, run);
  addAgentCommands(admin, run);
  addNumberCommands(admin, run);
  addMemberCommands(admin, run);
  addOperatorCommands(admin, run);
  addMoneyCommands(admin, run);
  addReconciliationCommands(admin, run);
  addSecretCommands(admin, run);
}

function addAccountCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./accounts.js');
  const accounts = admin.command('accounts').description('customers of the service');
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
    .option(
      '--daily-spend-cap <usd>',
      'per UTC day and mode; "default" for what the service says, "none" for no limit',
      usdOrNone,
    )
    .option(
      '--unanswered-attempts <n>',
      'that a number may get per UTC hour on a real carrier; "default" for what the service says, "none" for no limit',
      wholeNumberOrNone,
    )
    .option(
      '--live-calls-per-day <n>',
      'live calls and transfers per UTC day on a real carrier; "default" for what the service says, "none" for no limit',
      wholeNumberOrNone,
    )
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

function addFreezeCommands(accounts: Command, run: RunOnDatabase): void {
  const load = () => import('./freezes.js');
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

function addKeyCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./keys.js');
  const keys = admin.command('keys').description('API keys of an account');
  keys
    .command('create <account_id>')
    .description('create a key; it is shown once')
    .requiredOption('--name <name>', 'what it is for')
    .addOption(new Option('--mode <mode>', 'live moves real money').choices(MODES).default('live'))
    .option('--expires <when>', 'a date, or a time from now like 30d, 12h or 90m', expiry)
    .action((id, options) => run(async () => (await load()).createKeyFor, id, options));
  keys
    .command('list <account_id>')
    .description('the keys of an account, without their secrets')
    .action((id) => run(async () => (await load()).listKeysOf, id));
  keys
    .command('revoke <key_id>')
    .description('end a key; calls that run go on')
    .action((id) => run(async () => (await load()).revokeKeyById, id));
}

function addAgentCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./agents.js');
  const agents = admin.command('agents').description('AI assistants of an account');
  withAgentFields(
    agents
      .command('create <account_id>')
      .description('create an agent')
      .requiredOption('--name <name>', 'descriptive name'),
  ).action((id, options) => run(async () => (await load()).createAgentFor, id, options));
  agents
    .command('list <account_id>')
    .description('the agents of an account')
    .action((id) => run(async () => (await load()).listAgentsOf, id));
  agents
    .command('show <agent_id>')
    .description('one agent with its instruction')
    .action((id) => run(async () => (await load()).showAgent, id));
  withAgentFields(
    agents
      .command('update <agent_id>')
      .description('change an agent; running calls keep it as it was')
      .option('--name <name>', 'descriptive name'),
  )
    .addOption(clearOption())
    .action((id, options) => run(async () => (await load()).updateAgentById, id, options));
}

function addNumberCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./numbers.js');
  const numbers = admin.command('numbers').description('phone numbers of an account');
  numbers
    .command('add <account_id> <number>')
    .description('give a number (E.164) to an account')
    .option('--agent <agent_id>', 'answers this number in place of the inbound agent of the account')
    .action((id, number, options) => run(async () => (await load()).addNumberTo, id, number, options));
  numbers
    .command('list <account_id>')
    .description('the numbers of an account; calls are placed from the first')
    .action((id) => run(async () => (await load()).listNumbersOf, id));
  numbers
    .command('agent <number> <agent_id>')
    .description('name the agent that answers this number; "none" for the inbound agent of the account')
    .action((number, agent) => run(async () => (await load()).setAgentOfNumber, number, idOrNone(agent)));
}

function addOperatorCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./operators.js');
  const operators = admin.command('operators').description('members who see the Temporal address in the portal');
  operators
    .command('add <email>')
    .description('make a member an operator')
    .action((email) => run(async () => (await load()).addOperator, email));
  operators
    .command('list')
    .description('every operator')
    .action(() => run(async () => (await load()).listOperators));
  operators
    .command('remove <email>')
    .description('make an operator an ordinary member again')
    .action((email) => run(async () => (await load()).removeOperator, email));
}

function addSecretCommands(admin: Command, run: RunOnDatabase): void {
  admin
    .command('secrets')
    .description('secrets that are stored under ENCRYPTION_KEYS')
    .command('reseal')
    .description('put all of them under the newest key, after a rotation; exit 1 when one cannot be read')
    .action(() => run(async () => (await import('./secrets.js')).reseal));
}

function addMemberCommands(admin: Command, run: RunOnDatabase): void {
  const load = () => import('./members.js');
  const members = admin.command('members').description('people of an account, and links for them');
  const withRole = (command: Command, role: string) =>
    command.addOption(new Option('--role <role>', 'what they may do').choices(ROLES).default(role));
  withRole(
    members
      .command('create <account_id> <email>')
      .description('create a member, who chooses a password by a link that is printed once')
      .requiredOption('--name <name>', 'of the person'),
    'owner',
  ).action((id, email, options) => run(async () => (await load()).createMember, id, email, options));
  members
    .command('list <account_id>')
    .description('the members of an account')
    .action((id) => run(async () => (await load()).listMembers, id));
  withRole(
    members
      .command('invite <account_id> <email>')
      .description('create an invitation and print its link once (needs SIGN_UP other than off)'),
    'owner',
  ).action((id, email, options) => run(async () => (await load()).inviteMember, id, email, options));
  members
    .command('reset-link <email>')
    .description('print a link by which a member chooses a new password')
    .action((email) => run(async () => (await load()).resetLink, email));
  members
    .command('verify-link <email>')
    .description('print a link that verifies the e-mail address of whoever signed up with it last')
    .action((email) => run(async () => (await load()).verifyLink, email));
}
