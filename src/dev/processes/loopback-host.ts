import { randomInt } from 'node:crypto';
import { isFree } from './free-port.js';

/**
 * Returns a random loopback address, which is hard to guess, if the system accepts connections to all of 127.0.0.0/8.
 * Otherwise returns 127.0.0.1.
 * @param port must be free at the returned address
 */
export async function hiddenLoopbackHost(port: number): Promise<string> {
  const host = `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`;
  return (await isFree(port, host)) ? host : '127.0.0.1';
}
