/** Estimates the tokens of a text: about four characters per token, fewer in scripts other than Latin. */
export function estimateTokens(text: string): number {
  const bytes = Buffer.byteLength(text);
  return Math.ceil(bytes / 4 + (bytes - text.length) / 2);
}

/** The most tokens that a text is likely to have, for limits: digits, codes and JSON have about three characters per token. */
export function mostTokens(text: string): number {
  const bytes = Buffer.byteLength(text);
  return Math.ceil(text.length / 3 + (bytes - text.length) / 2);
}
