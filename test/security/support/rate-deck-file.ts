import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Writes a rate deck to a new file, which `remove` deletes. */
export function createRateDeckFile(csv: string) {
  const folder = mkdtempSync(join(tmpdir(), 'callwright-rates-'));
  const path = join(folder, 'rates.csv');
  const write = (text: string) => writeFileSync(path, text);
  write(csv);
  return { path, write, remove: () => rmSync(folder, { recursive: true }) };
}
