import { requireOnPath } from './executables.js';
import { runCommand, type Report } from '../processes/run-command.js';

const TIMEOUT_MS = 600_000;

/**
 * Copies the libraries of a pom.xml and their dependencies into a folder.
 * @throws Error with `advice` when Maven is missing, or with its output when Maven fails
 */
export async function fetchLibraries(options: {
  what: string;
  pom: string;
  folder: string;
  advice: string;
  env: NodeJS.ProcessEnv;
  report: Report;
  signal?: AbortSignal | undefined;
}): Promise<void> {
  const goal = 'dependency:copy-dependencies';
  const settings = ['-DincludeScope=runtime', `-DoutputDirectory=${options.folder}`];
  await runCommand({
    what: `fetching ${options.what}`,
    usually: 'usually 20 s on first run',
    file: await requireOnPath('mvn', options.env, options.advice),
    args: ['--batch-mode', '--quiet', '--file', options.pom, goal, ...settings],
    cwd: options.folder,
    env: options.env,
    timeoutMs: TIMEOUT_MS,
    report: options.report,
    signal: options.signal,
  });
}
