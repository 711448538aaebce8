import { Option, type Command } from 'commander';
import { wholeNumber } from '../arguments.js';
import type { Output } from '../output.js';
import type { Service } from './service.js';

/**
 * Runs a command on the service. Modules are loaded on demand, so that help is shown at once. Without an API key it
 * uses a key of the demo account.
 */
export type Run = <A extends unknown[]>(
  command: Command,
  load: () => Promise<(on: Service, out: Output, ...args: A) => Promise<void>>,
  ...args: A
) => Promise<void>;

/**
 * Adds the options for the service URL and the API key. The key is never an argument, because every user of the machine
 * can read arguments.
 */
export function withAccess(command: Command): Command {
  return command
    .option('--url <url>', 'address of the service (default: CALLWRIGHT_URL, else the one that runs from this folder)')
    .option('--api-key-file <file>', 'holds the API key (default: CALLWRIGHT_API_KEY holds it; never an argument)');
}

/** Adds the options of paginated lists. */
export function withPages(command: Command): Command {
  return command
    .option('--limit <n>', 'so many entries (default: 20)', wholeNumber)
    .addOption(new Option('--all', 'every entry').conflicts('limit'))
    .option('--cursor <cursor>', 'begin after those of a page before: its next_cursor');
}
