/** As paths; more of them are dearer than the list as a whole. */
const MOST_PATHS = 500;

/**
 * What makes a stored list another one, as paths with their values to be set: the items from the first that differs on. The list
 * must not be shorter than what is stored.
 * @param stored undefined when it is not known to be there
 */
export function changedItems(
  name: string,
  stored: readonly unknown[] | undefined,
  wanted: readonly unknown[],
): Record<string, unknown> {
  // An index makes no list where there is none.
  if (stored === undefined) return { [name]: wanted };
  let from = 0;
  while (from < wanted.length && from < stored.length && stored[from] === wanted[from]) from += 1;
  if (from === wanted.length) return {};
  if (wanted.length - from > MOST_PATHS) return { [name]: wanted };
  return Object.fromEntries(wanted.slice(from).map((item, index) => [`${name}.${from + index}`, item]));
}
