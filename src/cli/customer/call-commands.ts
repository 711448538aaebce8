import { Option, type Command } from 'commander';
import { CALL_STATUSES } from '../../kernel/call-state.js';
import { withAccess, withPages, type Run } from './command-parts.js';

/** Adds the options that say how a new call is conducted. */
function withConduct(command: Command): Command {
  return command
    .option('--agent <agent_id>', 'agent that conducts the call')
    .option('--instruction <text>', 'instruction of the call; replaces that of --agent, or creates a temporary agent')
    .addOption(new Option('--instruction-file <file>', 'read the instruction from a file').conflicts('instruction'))
    .option('--param <name=value...>', 'input parameters that replace {{name}} in the instruction')
    .option('--output-parameters <json>', 'data to extract: a JSON object of null, boolean, number or string values')
    .option('--webhook-url <url>', 'URL that receives the completion webhook')
    .option('--external-call-id <id>', 'your own id for the call');
}

/** Adds `callwright calls …` and `callwright web-calls …`. */
export function addCallCommands(program: Command, run: Run): void {
  const load = () => import('./calls.js');
  const calls = withAccess(program.command('calls').description('place, list, follow and cancel calls'));
  withConduct(
    calls
      .command('create')
      .description('place a call; with a test key it is simulated')
      .requiredOption('--to <number>', 'number to call (E.164)'),
  )
    .option('--idempotency-key <key>', 'makes the command safe to repeat (default: a new key)')
    .option('--wait', 'follow the call until it ends; exit 1 unless it is COMPLETED')
    .action((options, command) => run(command, async () => (await import('./create-call.js')).createCall, options));
  calls
    .command('get <call_id>')
    .description('show one call with its timeline, cost and transcript')
    .action((id, _options, command) => run(command, async () => (await load()).getCall, id));
  withPages(calls.command('list').description('list calls of the mode of the API key, newest first'))
    .addOption(new Option('--status <status>', 'only those').choices(CALL_STATUSES))
    .addOption(new Option('--direction <direction>', 'only those').choices(['outbound', 'inbound']))
    .option('--agent <agent_id>', 'filter by agent')
    .option('--external-call-id <id>', 'filter by your own id')
    .option('--search <text>', 'filter by words of the transcript, your own id, or digits of a phone number')
    .option('--from <time>', 'created at or after this time (UTC), like 2026-11-01 or 2026-11-01T12:00:00Z')
    .option('--to <time>', 'created before this time (UTC)')
    .action((options, command) => run(command, async () => (await load()).listCalls, options));
  calls
    .command('cancel <call_id>')
    .description('cancel or hang up a call; fails if it has already ended')
    .action((id, _options, command) => run(command, async () => (await load()).cancelCall, id));
  calls
    .command('tail <call_id>')
    .description('follow status, events and transcript until the call ends')
    .action((id, _options, command) => run(command, async () => (await import('./tail-call.js')).tailCall, id));
  const webCalls = withAccess(program.command('web-calls').description('start calls in a browser'));
  withConduct(
    webCalls
      .command('create')
      .description('start a call that a browser joins; prints the address and the token of its WebSocket'),
  )
    .option(
      '--draft-file <file>',
      'JSON file with the fields of an agent that is not stored; with --agent, a draft of it',
    )
    .action((options, command) => run(command, async () => (await import('./web-calls.js')).createWebCall, options));
}
