import { readSecretFile } from '../files/read-file.js';

/**
 * Returns the secret of a field, or of the file that the field `<place>_file` names.
 * @returns an absent secret if both are absent; a fault as a sentence without an end
 */
export function readSecretField(
  text: string | undefined,
  file: string | undefined,
  place: string,
): { secret: string | undefined } | { fault: string } {
  if (file === undefined) return { secret: text };
  if (text !== undefined) return { fault: `${place} and ${place}_file are both set: remove one` };
  const read = readSecretFile(file);
  return 'fault' in read ? { fault: `${place}_file ${read.fault.replace(/\.$/, '')}` } : read;
}
