/**
 * Replaces control characters, except newlines and tabs, in text from others, so that it cannot control the terminal.
 */
export function printable(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '\u{fffd}');
}

/** Converts to JSON. Escapes all control characters, also those that JSON permits but some terminals execute. */
export function jsonText(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent);
  return text.replace(/[^\P{Cc}\n]/gu, (code) => `\\u00${code.charCodeAt(0).toString(16)}`);
}
