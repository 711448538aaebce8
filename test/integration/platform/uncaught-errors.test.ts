import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { recordingEnvironment } from '../../support/query-shapes/recording-environment.js';
import { freePort } from '../../support/role-process';

const ROLE = join(__dirname, '../../../dist/src/main.js');

/** Starts a role that meets an error when it gets SIGUSR2. @returns its exit code and log lines after that */
async function meet(statement: string) {
  const preload = `data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => { ${statement} });`)}`;
  const child = spawn(process.execPath, ['--import', preload, ROLE, 'simulator'], {
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'test',
      ...recordingEnvironment(),
      SIMULATOR_PORT: String(await freePort()),
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    timeout: 60_000,
  });
  const output = text(child.stdout!);
  await once(child, 'message');
  child.kill('SIGUSR2');
  const [code] = (await once(child, 'exit')) as [number | null];
  const lines = (await output).trim().split('\n');
  return { code, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

// An error that no code expects leaves the process in an unknown state, so the orchestrator has to start another.
describe('a role that meets an error that no code expects', () => {
  it.each([
    ['uncaught exception', `throw new Error('broken')`],
    ['unhandled rejection', `Promise.reject(new Error('broken'))`],
  ])('logs it and exits with an error: %s', async (message, statement) => {
    const { code, lines } = await meet(statement);
    expect(code).toBe(1);
    // A line that was being written may come after it.
    expect(lines.find(({ level }) => level === 60)).toMatchObject({
      role: 'simulator',
      msg: message,
      err: { message: 'broken', stack: expect.stringContaining('Error: broken') },
    });
  });
});
