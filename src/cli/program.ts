import { Command } from 'commander';
import { addAdminCommands } from './admin/commands.js';
import { addCompletionCommand } from './completion/command.js';
import { addCustomerCommands } from './customer/commands.js';
import { wantsJson, type CliProcess } from './run.js';
import { printable } from './terminal.js';

/** The `callwright` command line. Exit codes are documented in `run.ts`. */
export function createProgram(process: CliProcess): Command {
  const json = wantsJson(process);
  const program = new Command('callwright')
    .description('Places and receives phone calls conducted by an AI agent.')
    .option('--json', 'print JSON instead of tables, and errors as JSON')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void process.stdout.write(text),
      // With --json, stderr contains only error objects.
      writeErr: (text) => void (json || process.stderr.write(printable(text))),
    })
    .showHelpAfterError('(--help shows how it is used)')
    .exitOverride();
  addCustomerCommands(program, process);
  addServiceCommands(program, process);
  addAdminCommands(program, process);
  addCompletionCommand(program, process);
  return program;
}

function addServiceCommands(program: Command, process: CliProcess): void {
  program
    .command('dev')
    .description('start everything on this machine, with embedded servers where none are named')
    .action(async () => (await import('../dev/dev.js')).runDev(process.env));
  program
    .command('demo')
    .description('place one outbound and one inbound call with real audio, and show all of it')
    .action(async () => (await import('../dev/demo.js')).runDemo(process.env));
  program
    .command('reset')
    .description('clear the state that dev keeps in its data folder')
    .action(async () => (await import('../dev/reset.js')).runReset(process.env));
}
