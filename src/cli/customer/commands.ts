import { Option, type Command } from 'commander';
import { clearOption, withAgentFields } from '../agent-options.js';
import type { Mode } from '../../kernel/ids.js';
import { parseExpiry, parseIdOrNone } from '../arguments.js';
import { wantsJson, type CliProcess } from '../run.js';
import { addCallCommands } from './call-commands.js';
import { withAccess, withPages, type Run } from './command-parts.js';
import type { AccessOptions } from './service.js';
import { addWebhookCommands } from './webhook-commands.js';

/** Adds the customer commands, which use the HTTP API with an API key. */
export function addCustomerCommands(program: Command, process: CliProcess): void {
  const runWith =
    (mode: Mode): Run =>
    async (command, load, ...args) => {
      const [{ openService }, { explainError }, { createOutput }, work] = await Promise.all([
        import('./service.js'),
        import('./explain.js'),
        import('../output.js'),
        load(),
      ]);
      const json = wantsJson(process);
      const service = await openService(process, command.optsWithGlobals<AccessOptions>(), json, mode);
      try {
        await work(service, createOutput(process, json), ...args);
      } catch (error) {
        throw explainError(error, service, command);
      }
    };
  const run = runWith('test');
  // For commands that change objects on which live calls depend. A test key cannot change these objects.
  const runLive = runWith('live');
  addCallCommands(program, run);
  addAgentCommands(program, run, runLive);
  addNumberCommands(program, run, runLive);
  addKeyCommands(program, run);
  addWebhookCommands(program, run);
  addMoneyCommands(program, run);
  addVoiceCommands(program, run);
}

function addAgentCommands(program: Command, run: Run, runLive: Run): void {
  const load = () => import('./agents.js');
  const agents = withAccess(program.command('agents').description('manage agents'));
  withAgentFields(
    agents.command('create').description('create an agent').requiredOption('--name <name>', 'descriptive name'),
  ).action((options, command) => runLive(command, async () => (await load()).createAgent, options));
  withPages(agents.command('list').description('list agents, newest first'))
    .option('--archived', 'list archived agents instead of active ones')
    .action((options, command) => run(command, async () => (await load()).listAgents, options));
  agents
    .command('get <agent_id>')
    .description('show one agent with its instruction')
    .action((id, _options, command) => run(command, async () => (await load()).getAgent, id));
  withAgentFields(
    agents
      .command('update <agent_id>')
      .description('update an agent; calls in progress are not affected')
      .option('--name <name>', 'descriptive name'),
  )
    .addOption(clearOption())
    .action((id, options, command) => run(command, async () => (await load()).updateAgent, id, options));
  agents
    .command('archive <agent_id>')
    .description('archive an agent; new calls cannot use it')
    .action((id, _options, command) => run(command, async () => (await load()).archiveAgent, id));
}

function addNumberCommands(program: Command, run: Run, runLive: Run): void {
  const load = () => import('./numbers.js');
  const numbers = withAccess(program.command('numbers').description('manage phone numbers'));
  numbers
    .command('list')
    .description('list numbers; calls are placed from the first one')
    .action((_options, command) => run(command, async () => (await load()).listNumbers));
  numbers
    .command('add <phone_number>')
    .description('add a number (E.164), if the service allows it')
    .option('--agent <agent_id>', 'agent for this number instead of the inbound agent of the account')
    .action((number, options, command) => runLive(command, async () => (await load()).addNumber, number, options));
  numbers
    .command('agent <phone_number> <agent_id>')
    .description('assign an agent to a number; "none" for the inbound agent of the account')
    .action((number, agent, _options, command) =>
      runLive(command, async () => (await load()).setNumberAgent, number, parseIdOrNone(agent)),
    );
  numbers
    .command('remove <phone_number>')
    .description('remove a number')
    .action((number, _options, command) => runLive(command, async () => (await load()).removeNumber, number));
}

function addKeyCommands(program: Command, run: Run): void {
  const load = () => import('./keys.js');
  const keys = withAccess(program.command('keys').description('manage API keys of the mode of the key in use'));
  keys
    .command('create')
    .description('create a key; it is shown only once')
    .requiredOption('--name <name>', 'name of the key, such as its use')
    .option('--expires <when>', 'a date, or a duration from now like 30d, 12h or 90m', parseExpiry)
    .action((options, command) => run(command, async () => (await load()).createKey, options));
  keys
    .command('list')
    .description('list keys, without their secrets')
    .action((_options, command) => run(command, async () => (await load()).listKeys));
  keys
    .command('rename <key_id> <name>')
    .description('rename a key')
    .action((id, name, _options, command) => run(command, async () => (await load()).renameKey, id, name));
  keys
    .command('revoke <key_id>')
    .description('revoke a key; calls in progress continue')
    .action((id, _options, command) => run(command, async () => (await load()).revokeKey, id));
}

function addMoneyCommands(program: Command, run: Run): void {
  const load = () => import('./money.js');
  const ofPeriod = (command: Command) =>
    withAccess(command)
      .option('--from <time>', 'start of the period (UTC), like 2026-11-01 or 2026-11-01T12:00:00Z')
      .option('--to <time>', 'end of the period (UTC), exclusive')
      .option('--csv', 'print CSV');
  withAccess(program.command('balance').description('show available, held, credited and billed amounts')).action(
    (_options, command) => run(command, async () => (await load()).showBalance),
  );
  withPages(ofPeriod(program.command('ledger').description('list ledger entries, newest first'))).action(
    ({ url: _url, apiKeyFile: _file, ...options }, command) =>
      run(command, async () => (await load()).showLedger, options),
  );
  ofPeriod(program.command('usage').description('show usage; the last 30 days by default'))
    .addOption(new Option('--group-by <what>', 'group rows by day or agent').choices(['day', 'agent']).default('day'))
    .action((options, command) => run(command, async () => (await load()).showUsage, options));
}

function addVoiceCommands(program: Command, run: Run): void {
  const load = () => import('./voices.js');
  withAccess(program.command('voices').description('list voices by engine')).action((_options, command) =>
    run(command, async () => (await load()).listVoices),
  );
  withAccess(program.command('languages').description('list languages by engine')).action((_options, command) =>
    run(command, async () => (await load()).listLanguages),
  );
}
