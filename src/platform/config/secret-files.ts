import { readFileSync } from 'node:fs';
import { SECRETS, type Fault } from './secret-variables.js';

const SUFFIX = '_FILE';
const MAX_CHARACTERS = 65_536;
/** Editors and commands end a file with a line break that is no part of the secret. */
const LINE_BREAK = /\r?\n$/;

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
  const values = { ...given };
  const faults: Fault[] = [];
  for (const { variable } of SECRETS) {
    const path = given[`${variable}${SUFFIX}`];
    if (path === undefined) continue;
    const read =
      given[variable] === undefined ? readSecret(path) : { fault: `and ${variable} are both set: remove one.` };
    if ('fault' in read) faults.push({ variable, sentence: `${variable}${SUFFIX} ${read.fault}` });
    else values[variable] = read.secret;
  }
  return { given: values, faults };
}

function readSecret(path: string): { secret: string } | { fault: string } {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return { fault: `names a file that cannot be read (${(error as NodeJS.ErrnoException).code}).` };
  }
  if (text.length > MAX_CHARACTERS) return { fault: 'names a file that is too long for a secret.' };
  const secret = text.replace(LINE_BREAK, '');
  return secret === '' ? { fault: 'names an empty file.' } : { secret };
}
