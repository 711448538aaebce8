import { join } from 'node:path';
import { dataFolder, readRuntime, type Runtime } from '../launch/runtime-file.js';
import { CliError } from './run.js';

/** What the service that runs from this folder tells of itself; empty when none does. */
export interface LocalService {
  /** The file that would tell. */
  file: string;
  runtime: Partial<Runtime>;
}

/** @throws CliError when the file is there and cannot be used */
export async function readLocalService(env: NodeJS.ProcessEnv): Promise<LocalService> {
  const folder = dataFolder(env, process.cwd());
  const file = join(folder, 'runtime.json');
  try {
    const runtime: unknown = await readRuntime(folder);
    return { file, runtime: typeof runtime === 'object' && runtime !== null ? runtime : {} };
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new CliError(`${file} is not valid JSON; start the service again to have it written anew.`);
    }
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`);
  }
}
