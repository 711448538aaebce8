import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockDataFolder } from '../../src/dev/data-folder.js';

it('an existing data folder is closed to other users', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'callwright-data-'));
  try {
    await chmod(folder, 0o755);
    const release = await lockDataFolder(folder);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    await release();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
