import { Option, type Command } from 'commander';
import { CALL_STATUSES } from '../../kernel/call-state.js';
import { withAccess, withPages, type Run } from './command-parts.js';

/** Adds `callwright calls …`. */
export function addCallCommands(program: Command, run: Run): void {
  const load = () => import('./calls.js');
  const calls = withAccess(program.command('calls').description('phone calls: place, list, follow, cancel'));
  calls
    .command('create')
    .description('place a call; the mode of the API key decides whether it is a real one')
    .requiredOption('--to <number>', 'number to call (E.164)')
    .option('--agent <agent_id>', 'conducts the call')
    .option(
      '--instruction <text>',
      'what to do: without --agent by an agent for this call alone, else in place of its own',
    )
    .addOption(new Option('--instruction-file <file>', 'the same, from a file').conflicts('instruction'))
    .option('--param <name=value...>', 'input parameters, which {{name}} in an instruction stands for')
    .option('--output-parameters <json>', 'data to extract: a JSON object of null, boolean, number or string values')
    .option('--webhook-url <url>', 'receives the completion event')
    .option('--external-call-id <id>', 'an id of your own')
    .option('--idempotency-key <key>', 'makes a repeat of this command harmless (default: a new one)')
    .option('--wait', 'follow the call to its end; exit 1 unless it is COMPLETED')
    .action((options, command) => run(command, async () => (await import('./create-call.js')).createCall, options));
  calls
    .command('get <call_id>')
    .description('one call with its timeline, cost and transcript')
    .action((id, _options, command) => run(command, async () => (await load()).getCall, id));
  withPages(calls.command('list').description('calls of the mode of the API key, newest first'))
    .addOption(new Option('--status <status>', 'only those').choices(CALL_STATUSES))
    .addOption(new Option('--direction <direction>', 'only those').choices(['outbound', 'inbound']))
    .option('--agent <agent_id>', 'only those of this agent')
    .option('--external-call-id <id>', 'only those with this id of your own')
    .option('--from <time>', 'created at this time (UTC) or later, like 2026-11-01 or 2026-11-01T12:00:00Z')
    .option('--to <time>', 'created before this time (UTC)')
    .action((options, command) => run(command, async () => (await load()).listCalls, options));
  calls
    .command('cancel <call_id>')
    .description('cancel a call, or hang it up; tells which of the two, and fails when it had ended')
    .action((id, _options, command) => run(command, async () => (await load()).cancelCall, id));
  calls
    .command('tail <call_id>')
    .description('show states, events and what is said, live, until the call is over')
    .action((id, _options, command) => run(command, async () => (await import('./tail-call.js')).tailCall, id));
}
