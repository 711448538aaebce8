import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { runCommand } from '../../src/dev/processes/run-command.js';
import { packageRoot } from '../../src/dev/servers/cache-folder.js';
import type { ShapeContext } from './context.js';
import { createSteps, inOrder, restart, type Step } from './deployment.js';
import type { Instance } from './roles.js';
import type { Shape } from './shape.js';

const COMMAND_TIMEOUT_MS = 60_000;

interface Rotation {
  env: NodeJS.ProcessEnv;
  /** Changes variables of every role, and restarts the processes of each role one after the other. */
  change: (name: string, variables: NodeJS.ProcessEnv) => Promise<void>;
  /** Runs a command of the operator's command line. @returns its output as JSON */
  admin: (...args: string[]) => Promise<unknown>;
}

/** Rotates secrets while calls are placed, with the steps of docs/operations/secrets.md. */
export async function rotate(context: ShapeContext, shape: Shape, placed: () => number): Promise<Step[]> {
  const { steps, step } = createSteps(context, shape, placed);
  const { env } = shape;
  const rotation: Rotation = {
    env,
    async change(name, variables) {
      Object.assign(env, variables);
      for (const [number, instances] of oneOfEachRole(shape).entries()) {
        await step(`${name}: restart ${number + 1} of each role`, async () => {
          await Promise.all(instances.map((instance) => restart(context, instance)));
        });
      }
    },
    async admin(...args) {
      const output = await runCommand({
        what: `callwright admin ${args.join(' ')}`,
        file: process.execPath,
        args: [join(packageRoot(), 'dist/src/cli/main.js'), 'admin', ...args, '--json'],
        cwd: context.folder,
        env,
        timeoutMs: COMMAND_TIMEOUT_MS,
        report: context.report,
        signal: context.signal,
      });
      return JSON.parse(output) as unknown;
    },
  };
  // A stored secret that every webhook needs.
  await shape.client.request('POST', '/webhook_signing/rotate', { json: {} });
  await rotateEncryptionKeys(rotation);
  await changePepper(rotation);
  await changePepper(rotation);
  return steps;
}

async function rotateEncryptionKeys({ env, change, admin }: Rotation): Promise<void> {
  const { ENCRYPTION_KEYS: old } = env;
  const fresh = newKey('next');
  await change('encryption keys, step 1', { ENCRYPTION_KEYS: `${old},${fresh}` });
  await change('encryption keys, step 2', { ENCRYPTION_KEYS: `${fresh},${old}` });
  const { keys } = (await admin('secrets', 'reseal')) as { keys: { key_id: string; secrets: number }[] };
  const left = keys.filter(({ key_id: id, secrets }) => id !== 'next' && secrets > 0);
  if (left.length > 0) throw new Error(`Secrets are encrypted with former keys: ${JSON.stringify(left)}`);
  await change('encryption keys, step 4', { ENCRYPTION_KEYS: fresh });
  await admin('secrets', 'reseal');
}

async function changePepper({ env, change, admin }: Rotation): Promise<void> {
  const { API_KEY_PEPPER: old } = env;
  const fresh = randomBytes(32).toString('hex');
  await admin('secrets', 'reseal');
  await change('pepper, step 2', { API_KEY_FORMER_PEPPERS: fresh });
  await change('pepper, step 3', { API_KEY_PEPPER: fresh, API_KEY_FORMER_PEPPERS: old });
  const left = await admin('keys', 'former-peppers');
  if (JSON.stringify(left) !== '[]') throw new Error(`Keys in use have the former pepper: ${JSON.stringify(left)}`);
  await change('pepper, step 4', { API_KEY_FORMER_PEPPERS: undefined });
}

/** The first process of every role, then the second ones. Another process of each role serves meanwhile. */
function oneOfEachRole(shape: Shape): Instance[][] {
  const groups: Instance[][] = [];
  const known = new Map<string, number>();
  for (const instance of inOrder(shape)) {
    const at = known.get(instance.role) ?? 0;
    known.set(instance.role, at + 1);
    (groups[at] ??= []).push(instance);
  }
  return groups;
}

const newKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
