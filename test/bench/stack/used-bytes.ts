import { readResidentBytes } from './cpu.js';
import { openInspector } from './inspector.js';
import type { NodeProcess } from './node-process.js';

/** Returns the resident memory of a process after a garbage collection in all its threads. */
export async function usedBytes({ pid, inspector: address }: NodeProcess): Promise<number> {
  const inspector = await openInspector(address);
  await inspector.collectGarbage();
  await inspector.close();
  return readResidentBytes(pid);
}
