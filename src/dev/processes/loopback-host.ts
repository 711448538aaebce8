import { randomInt } from 'node:crypto';
import { isFree } from './free-port.js';

/**
 * A random, hard to guess loopback address where the system accepts connections to all of 127.0.0.0/8, otherwise
 * 127.0.0.1.
 * @param port that must be free at that address
 */
export async function hiddenLoopbackHost(port: number): Promise<string> {
  const host = `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`;
  return (await isFree(port, host)) ? host : '127.0.0.1';
}
