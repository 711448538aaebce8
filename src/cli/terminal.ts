/**
 * Control characters, and format characters such as those that reverse the direction of text. The joiners of emoji and of
 * Indic and Persian words are none of them.
 */
const UNSAFE = /(?![\u{200c}\u{200d}])[\p{Cc}\p{Cf}]/gu;

/**
 * Replaces control and format characters, except newlines and tabs, in text from others, so that it cannot control the
 * terminal or be shown in another order.
 */
export function printable(text: string): string {
  return text.replace(UNSAFE, (code) => (code === '\n' || code === '\t' ? code : '\u{fffd}'));
}

/** Converts to JSON. Escapes all control and format characters, also those that JSON permits but some terminals execute. */
export function jsonText(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent);
  return text.replace(UNSAFE, (code) => (code === '\n' ? code : escaped(code)));
}

/** Escapes both halves of characters beyond U+FFFF. */
function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
