import { readFileSync, statSync } from 'node:fs';

const MAX_CHARACTERS = 65_536;
/** Editors and commands end a file with a line break that is no part of the secret. */
const LINE_BREAK = /\r?\n$/;

/**
 * Reads a file that a variable names.
 * @throws Error that names the variable and the file
 */
export function readConfigFile(variable: string, file: string, maxBytes: number): string {
  let fault: string;
  try {
    const stats = statSync(file);
    if (stats.isFile() && stats.size <= maxBytes) return readFileSync(file, 'utf8');
    fault = stats.isFile() ? `it has more than ${maxBytes} bytes` : 'it is not a file';
  } catch (error) {
    fault = (error as NodeJS.ErrnoException).code ?? String(error);
  }
  throw new Error(`${variable}: ${file} cannot be read: ${fault}.`);
}

/** Reads a secret from a file. The fault is the end of a sentence that begins with the name of the setting. */
export function readSecretFile(path: string): { secret: string } | { fault: string } {
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
