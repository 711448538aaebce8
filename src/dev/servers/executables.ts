import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

/** Returns the absolute path of the first executable with this name on PATH. */
export async function findOnPath(name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    const file = join(folder, name);
    if (isAbsolute(folder) && (await isExecutable(file))) return file;
  }
  return undefined;
}

export async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the path of an executable on PATH.
 * @throws Error with `advice`: what to install, or which variable makes the executable unnecessary
 */
export async function requireOnPath(name: string, env: NodeJS.ProcessEnv, advice: string): Promise<string> {
  const found = await findOnPath(name, env);
  if (found === undefined) throw new Error(`\`${name}\` was not found on PATH. ${advice}`);
  return found;
}
