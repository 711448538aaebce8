import { randomInt } from 'node:crypto';
import { isFree } from './free-port.js';

/**
 * An address of this machine that nobody guesses, where the system takes connections to all of 127.0.0.0/8, else 127.0.0.1.
 * @param port on which it must be free
 */
export async function hiddenLoopbackHost(port: number): Promise<string> {
  const host = `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`;
  return (await isFree(port, host)) ? host : '127.0.0.1';
}
