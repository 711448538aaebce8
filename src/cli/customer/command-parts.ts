import { Option, type Command } from 'commander';
import { wholeNumber } from '../arguments.js';
import type { Output } from '../output.js';
import type { Service } from './service.js';

/**
 * Runs a command on the service; what it needs is loaded only now, so that help is there at once. Where no key is given it
 * runs with a key of the demo account.
 */
export type Run = <A extends unknown[]>(
  command: Command,
  load: () => Promise<(on: Service, out: Output, ...args: A) => Promise<void>>,
  ...args: A
) => Promise<void>;

/** How the service and the key are found: not by an argument, which everybody on the machine could read. */
export function withAccess(command: Command): Command {
  return command
    .option('--url <url>', 'address of the service (default: CALLWRIGHT_URL, else the one that runs from this folder)')
    .option('--api-key-file <file>', 'holds the API key (default: CALLWRIGHT_API_KEY holds it; never an argument)');
}

/** Options of every list in pages. */
export function withPages(command: Command): Command {
  return command
    .option('--limit <n>', 'so many entries (default: 20)', wholeNumber)
    .addOption(new Option('--all', 'every entry').conflicts('limit'))
    .option('--cursor <cursor>', 'begin after those of a page before: its next_cursor');
}
