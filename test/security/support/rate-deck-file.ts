import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A rate deck in a file of its own, removed by `remove`. */
export function createRateDeckFile(csv: string) {
  const folder = mkdtempSync(join(tmpdir(), 'callwright-rates-'));
  const path = join(folder, 'rates.csv');
  const write = (text: string) => writeFileSync(path, text);
  write(csv);
  return { path, write, remove: () => rmSync(folder, { recursive: true }) };
}
