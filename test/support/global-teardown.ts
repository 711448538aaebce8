import { once } from 'node:events';
import { HANDLE, type Handle } from './global-setup';

/** Ends the process that runs the servers. The servers end with it. */
export default async function globalTeardown(): Promise<void> {
  const child = Reflect.get(globalThis, HANDLE) as Handle | undefined;
  if (child === undefined || child.exitCode !== null) return;
  const exited = once(child, 'exit');
  child.stdin?.end();
  await exited;
}
