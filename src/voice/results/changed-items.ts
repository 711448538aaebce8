/** Maximum number of paths. For more changes, replacing the whole list is cheaper. */
const MOST_PATHS = 500;

/**
 * Returns the MongoDB `$set` paths that turn a stored list into the wanted one: one path per item, from the first
 * difference on. The wanted list must not be shorter than the stored one.
 * @param stored undefined if the stored list is unknown
 */
export function changedItems(
  name: string,
  stored: readonly unknown[] | undefined,
  wanted: readonly unknown[],
): Record<string, unknown> {
  // Setting an index path does not create a list that does not exist.
  if (stored === undefined) return { [name]: wanted };
  let from = 0;
  while (from < wanted.length && from < stored.length && stored[from] === wanted[from]) from += 1;
  if (from === wanted.length) return {};
  if (wanted.length - from > MOST_PATHS) return { [name]: wanted };
  return Object.fromEntries(wanted.slice(from).map((item, index) => [`${name}.${from + index}`, item]));
}
