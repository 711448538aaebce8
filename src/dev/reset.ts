import { existsSync } from 'node:fs';
import { clearDataFolder, lockDataFolder } from './data-folder.js';
import { dataFolder } from './runtime-file.js';

/**
 * Runs `callwright reset`: removes the calls, accounts and keys of the data folder.
 * @throws Error when a stack uses the folder
 */
export async function runReset(env: NodeJS.ProcessEnv): Promise<void> {
  const folder = dataFolder(env, process.cwd());
  if (existsSync(folder)) {
    const release = await lockDataFolder(folder);
    try {
      await clearDataFolder(folder);
    } finally {
      await release();
    }
  }
  process.stdout.write(`${folder} is empty. The next start begins without data.\n`);
}
