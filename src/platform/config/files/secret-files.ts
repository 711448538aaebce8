import { SECRETS, type Fault } from '../secret-variables.js';
import { readSecretFile } from './read-file.js';

const SUFFIX = '_FILE';

/**
 * Reads the secrets in files for a process that needs one before it has a configuration, such as the address of the
 * database. The result can be parsed like the environment.
 * @throws Error with one sentence for each file that cannot be used
 */
export function withoutSecretFiles(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { given, faults } = withSecretFiles(env);
  if (faults.length === 0) return given;
  throw new Error(`The configuration is invalid. ${faults.map(({ sentence }) => sentence).join(' ')}`);
}

/**
 * Replaces each `<variable>_FILE` of a secret by the variable, with the text of the file. Docker and Kubernetes give secrets
 * in files, which processes do not pass on to their children and tools do not show.
 * @returns the variables that are set and not empty, and what is wrong with the files; no sentence contains a secret
 */
export function withSecretFiles(env: NodeJS.ProcessEnv): {
  given: Record<string, string | undefined>;
  faults: Fault[];
} {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const values: Record<string, string | undefined> = { ...given };
  const faults: Fault[] = [];
  for (const { variable } of SECRETS) {
    const path = given[`${variable}${SUFFIX}`];
    if (path === undefined) continue;
    const read =
      given[variable] === undefined ? readSecretFile(path) : { fault: `and ${variable} are both set: remove one.` };
    if ('fault' in read) faults.push({ variable, sentence: `${variable}${SUFFIX} ${read.fault}` });
    else Object.assign(values, { [variable]: read.secret, [`${variable}${SUFFIX}`]: undefined });
  }
  return { given: values, faults };
}
