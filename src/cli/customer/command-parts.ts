import { Option, type Command } from 'commander';
import { parseWholeNumber } from '../arguments.js';
import type { Output } from '../output.js';
import type { Service } from './service.js';

/**
 * Runs a command on the service. Loads modules only when a command runs, so that help appears quickly. If no API key is
 * given, uses a key of the demo account.
 */
export type Run = <A extends unknown[]>(
  command: Command,
  load: () => Promise<(on: Service, out: Output, ...args: A) => Promise<void>>,
  ...args: A
) => Promise<void>;

/**
 * Adds the options for the service URL and the API key. The key cannot be passed as an argument, because every user of
 * the machine can read the arguments of a process.
 */
export function withAccess(command: Command): Command {
  return command
    .option('--url <url>', 'URL of the service (default: CALLWRIGHT_URL, or the service that runs from this folder)')
    .option('--api-key-file <file>', 'file with the API key (default: the key in CALLWRIGHT_API_KEY)');
}

/** Adds the options of paginated lists. */
export function withPages(command: Command): Command {
  return command
    .option('--limit <n>', 'maximum entries (default: 20)', parseWholeNumber)
    .addOption(new Option('--all', 'list all entries').conflicts('limit'))
    .option('--cursor <cursor>', 'next_cursor of the previous page');
}
