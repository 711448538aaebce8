import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Finds `ip`: programs of administrators may be outside PATH. */
function program(): string {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin'];
  return folders.map((folder) => join(folder, 'ip')).find((file) => existsSync(file)) ?? 'ip';
}

/**
 * Runs `ip` of iproute2.
 * @param lines commands to run one after the other, with `-batch -` among the arguments
 * @returns its output
 * @throws Error with its message
 */
export function ip(args: readonly string[], lines: readonly string[] = []): string {
  const input = lines.map((line) => `${line}\n`).join('');
  const { status, stdout, stderr, error } = spawnSync(program(), args, { input, encoding: 'utf8' });
  if (error !== undefined) throw new Error(`\`ip\` of iproute2 cannot be run: ${error.message}`);
  if (status !== 0) throw new Error(`\`ip ${args.join(' ')}\` failed: ${stderr.trim()}`);
  return stdout;
}

/** Returns the command line that runs a program in a network namespace. */
export function inNamespace(namespace: string, file: string, args: readonly string[]) {
  return { file: program(), args: ['netns', 'exec', namespace, file, ...args] };
}

/** @throws Error that says what is missing */
export function requireNamespaces(): void {
  if (process.platform !== 'linux') throw new Error('--hosts needs Linux, because it makes network namespaces.');
  if (process.getuid?.() !== 0) throw new Error('--hosts must run as root, because it makes network namespaces.');
  try {
    ip(['-Version']);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`--hosts makes network namespaces. Install iproute2. ${reason}`, { cause: error });
  }
}
