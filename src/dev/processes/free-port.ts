import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { cacheFolder } from '../servers/cache-folder.js';
import { takeLock } from './lock.js';

/** Lowest port to choose from. These ports are below the ephemeral range of common systems, so they stay free. */
const LOWEST = 20_000;
const HIGHEST = 29_999;

export interface Ports {
  /**
   * Returns the wanted port if it is free, otherwise another one. The port is reserved for this process until
   * `release`.
   */
  take: (wanted?: number) => Promise<number>;
  release: () => Promise<void>;
}

/** Chooses free ports and locks them, so that launchers starting at the same time do not choose the same ones. */
export function createPorts(env: NodeJS.ProcessEnv): Ports {
  const folder = join(cacheFolder(env), 'ports');
  const releases: (() => Promise<void>)[] = [];

  async function tryTake(port: number): Promise<boolean> {
    const lock = await takeLock(join(folder, String(port)));
    if (!lock.held) return false;
    if (await isFree(port)) {
      releases.push(lock.release);
      return true;
    }
    await lock.release();
    return false;
  }

  return {
    async take(wanted) {
      if (wanted !== undefined && wanted !== 0 && (await tryTake(wanted))) return wanted;
      for (let attempt = 0; attempt < 1_000; attempt += 1) {
        const port = randomInt(LOWEST, HIGHEST + 1);
        if (await tryTake(port)) return port;
      }
      throw new Error(`No free port between ${LOWEST} and ${HIGHEST}.`);
    },
    async release() {
      for (const release of releases.splice(0)) await release();
    },
  };
}

/**
 * Whether no process listens on the port.
 * @param host an address of this machine
 */
export function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
}
