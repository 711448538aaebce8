import { chown, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../../../src/dev/processes/run-command.js';
import { findOnPath } from '../../../src/dev/servers/executables.js';
import { probePort, startReady, type ServerProcess } from '../../../src/dev/servers/server-process.js';
import type { ShapeContext } from '../context.js';

const DEBIAN = '/usr/lib/postgresql';
const READY_WITHIN_MS = 60_000;
const TIMEOUT_MS = 60_000;
export const POSTGRESQL_USER = 'temporal';

/** Starts a PostgreSQL with an empty cluster on the host of Temporal. Other hosts can connect, but not log in. */
export async function startPostgresql(
  context: ShapeContext,
  p: { port: number; password: string },
): Promise<ServerProcess> {
  const { folder, env, signal } = context;
  const bin = await programs(env);
  const data = join(folder, 'postgresql');
  await mkdir(data, { mode: 0o700 });
  const passwordFile = join(folder, 'postgresql-password');
  await writeFile(passwordFile, p.password, { mode: 0o600 });
  const asUser = await unprivileged(context, [data, passwordFile]);
  const command = (program: string, ...args: string[]) => [...asUser, join(bin, program), ...args];
  const [initdb = '', ...initdbArgs] = command(
    'initdb',
    `--pgdata=${data}`,
    `--username=${POSTGRESQL_USER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--no-locale',
  );
  await runCommand({
    what: 'making a PostgreSQL cluster',
    file: initdb,
    args: initdbArgs,
    cwd: '/',
    env,
    timeoutMs: TIMEOUT_MS,
    report: context.report,
    signal,
  });
  const { address, at } = context.place('Temporal');
  const addresses = [...new Set(['127.0.0.1', address])].join(',');
  const [postgres = '', ...args] = command('postgres', '-D', data, '-p', String(p.port), '-h', addresses, '-k', data);
  return startReady({
    name: 'PostgreSQL',
    command: { ...at(postgres, args), env },
    probe: () => probePort(p.port, address),
    timeoutMs: READY_WITHIN_MS,
    signal,
  });
}

/** Returns the version of the installed PostgreSQL. */
export async function postgresqlVersion(env: NodeJS.ProcessEnv): Promise<string> {
  const file = join(await programs(env), 'postgres');
  const common = { what: 'asking PostgreSQL', cwd: '/', env, timeoutMs: TIMEOUT_MS, report: () => undefined };
  return /\d+\.\d+/.exec(await runCommand({ ...common, file, args: ['--version'] }))?.[0] ?? 'of unknown version';
}

/** The folder of PostgreSQL's programs; Debian has them outside PATH. */
async function programs(env: NodeJS.ProcessEnv): Promise<string> {
  const versions = await readdir(DEBIAN).catch(() => []);
  for (const version of versions.toSorted((a, b) => Number(b) - Number(a))) {
    const bin = join(DEBIAN, version, 'bin');
    if ((await findOnPath('initdb', { PATH: bin })) !== undefined) return bin;
  }
  const onPath = await findOnPath('initdb', env);
  if (onPath !== undefined) return join(onPath, '..');
  throw new Error('PostgreSQL was not found. Install it (Debian: `apt-get install postgresql`), or use --short.');
}

/** PostgreSQL does not run as root. Returns the beginning of a command that runs as another user, if one is needed. */
async function unprivileged({ folder, env, signal }: ShapeContext, files: readonly string[]): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  const id = async (flag: '-u' | '-g') => {
    const common = { what: 'looking up a user', cwd: '/', env, timeoutMs: TIMEOUT_MS, report: () => undefined, signal };
    const ask = (user: string) => runCommand({ ...common, file: 'id', args: [flag, user] });
    return Number(await ask('postgres').catch(() => ask('nobody')));
  };
  const [uid, gid] = [await id('-u'), await id('-g')];
  for (const file of files) await chown(file, uid, gid);
  // The user has to reach its folder.
  await runCommand({
    what: 'opening the folder',
    file: 'chmod',
    args: ['711', folder],
    cwd: '/',
    env,
    timeoutMs: TIMEOUT_MS,
    report: () => undefined,
  });
  return ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
}
