import { Command, Option } from 'commander';
import { ENGINE_NAMES, type EngineName } from '../kernel/conversation/engines.js';
import { addAdminCommands } from './admin/commands.js';
import { addCompletionCommand } from './completion/command.js';
import { addCustomerCommands } from './customer/commands.js';
import { wantsJson, type CliProcess } from './run.js';
import { printable } from './terminal.js';

/** Creates the `callwright` command line. `run.ts` documents the exit codes. */
export function createProgram(process: CliProcess): Command {
  const json = wantsJson(process);
  const program = new Command('callwright')
    .description('Places and receives phone calls conducted by an AI agent.')
    .option('--json', 'print results and errors as JSON')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void process.stdout.write(text),
      // With --json, stderr contains only error objects.
      writeErr: (text) => void (json || process.stderr.write(printable(text))),
    })
    .showHelpAfterError('(see --help)')
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
    .description('start the whole service on this machine, with embedded servers where none are configured')
    .action(async () => (await import('../dev/dev.js')).runDev(process.env));
  program
    .command('demo')
    .description('place an outbound and an inbound call with real audio and print their results')
    .addOption(
      new Option('--engine <engine>', 'engine that conducts the calls (default: offline-demo)').choices(ENGINE_NAMES),
    )
    .action(async ({ engine }: { engine?: EngineName }) =>
      (await import('../dev/demo.js')).runDemo(process.env, engine),
    );
  program
    .command('reset')
    .description('delete the data folder of dev')
    .action(async () => (await import('../dev/reset.js')).runReset(process.env));
}
