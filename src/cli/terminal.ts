/**
 * Replaces control characters, except newlines and tabs, in text that is not ours, so that it cannot control the
 * terminal.
 */
export function printable(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '\u{fffd}');
}

/** JSON with all control characters escaped, including those that JSON permits but some terminals execute. */
export function jsonText(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent);
  return text.replace(/[^\P{Cc}\n]/gu, (code) => `\\u00${code.charCodeAt(0).toString(16)}`);
}
