/** Characters as people and JSON Schema count them: one outside the basic plane is one, not the two units it is stored as. */
export function characterCount(text: string): number {
  let count = 0;
  for (const _character of text) count += 1;
  return count;
}
