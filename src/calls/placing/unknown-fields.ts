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
    if (bytes + name.length + 1 > MAX_BYTES) continue;
    const encoded = percentEncoded(name);
    if (bytes + encoded.length + 1 > MAX_BYTES) continue;
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
  // In native code, because a request may have thousands of characters in names.
  return encodeURIComponent(Buffer.from(name).toString()).replace(/[!~*'()]/g, encodedCharacter);
}

function encodedCharacter(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
