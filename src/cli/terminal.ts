/** Text of others without what would command the terminal. */
export function printable(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '\u{fffd}');
}

/** JSON with the control characters escaped that JSON itself lets through: some terminals obey them. */
export function jsonText(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent);
  return text.replace(/[^\P{Cc}\n]/gu, (code) => `\\u00${code.charCodeAt(0).toString(16)}`);
}
