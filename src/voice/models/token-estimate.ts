/** Estimates the tokens of a text: about four characters per token, fewer in scripts other than Latin. */
export function estimateTokens(text: string): number {
  const bytes = Buffer.byteLength(text);
  return Math.ceil(bytes / 4 + (bytes - text.length) / 2);
}
