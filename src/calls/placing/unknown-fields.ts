/** Limits of what is reported about unknown fields. */
const MAX_NAMES = 20;
const MAX_BYTES = 1_000;

/** The unknown fields of a request. */
export interface UnknownFields {
  /** Their names, percent-encoded: at most 20, and 1 kB with the separators. */
  names: string[];
  /** How many more there are. */
  omitted: number;
}

/**
 * Finds the fields of a request that the interface does not know. They are ignored, because the interface allows them.
 * @param known names of all fields of the interface
 */
export function findUnknownFields(fields: object, known: ReadonlySet<string>): UnknownFields {
  const unknown = Object.keys(fields).filter((name) => !known.has(name));
  const names: string[] = [];
  let bytes = 0;
  for (const name of unknown) {
    if (names.length === MAX_NAMES) break;
    // Encoding makes no name shorter, so long ones need not be encoded.
    const encoded = name.length > MAX_BYTES ? undefined : percentEncoded(name);
    if (encoded === undefined || bytes + encoded.length + 1 > MAX_BYTES) continue;
    names.push(encoded);
    bytes += encoded.length + 1;
  }
  return { names, omitted: unknown.length - names.length };
}

/** The value of the X-Callwright-Warnings header; undefined if there is nothing to report. */
export function warningsHeader({ names, omitted }: UnknownFields): string | undefined {
  if (names.length + omitted === 0) return undefined;
  return `unknown_fields=${names.join(',')}${omitted === 0 ? '' : `; omitted=${omitted}`}`;
}

/** Percent-encodes all but letters, digits, `-`, `.` and `_`. Invalid Unicode becomes U+FFFD. */
function percentEncoded(name: string): string {
  return [...Buffer.from(name)].map(encodedByte).join('');
}

function encodedByte(byte: number): string {
  const character = String.fromCharCode(byte);
  return /[\w.-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}
