import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ListPage } from '../types';

/**
 * Keeps track of the page of a cursor-paged list: forward with the response's cursor, back through earlier cursors. A
 * new `key` (another filter or mode) goes back to the first page.
 */
export function useCursor(key: string) {
  const [trail, setTrail] = useState<readonly string[]>([]);
  useEffect(() => setTrail([]), [key]);
  return {
    cursor: trail.at(-1),
    page: trail.length + 1,
    forward: (cursor: string) => setTrail((before) => [...before, cursor]),
    back: () => setTrail((before) => before.slice(0, -1)),
  };
}

export function Pager({ of: list, cursor }: { of: ListPage<unknown>; cursor: ReturnType<typeof useCursor> }) {
  const next = list.next_cursor;
  if (cursor.page === 1 && next === undefined) return null;
  const step = (label: string, act: (() => void) | undefined) => (
    <button type="button" class="button" disabled={act === undefined} onClick={act ?? (() => undefined)}>
      {label}
    </button>
  );
  return (
    <nav class="pager" aria-label="Pagination">
      {step('Newer', cursor.page > 1 ? cursor.back : undefined)}
      <span class="quiet">Page {cursor.page}</span>
      {step('Older', next === undefined ? undefined : () => cursor.forward(next))}
    </nav>
  );
}

export function Table({
  label,
  head,
  numeric = [],
  minor = [],
  children,
}: {
  label: string;
  head: readonly string[];
  /** Titles of the columns that contain numbers. Their cells have the class `number`. */
  numeric?: readonly string[];
  /** Titles of the columns that a phone has no room for. Their cells have the class `minor`. */
  minor?: readonly string[];
  children: ComponentChildren;
}) {
  return (
    <div class="table-wrap" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {head.map((title) =>
              // A column of buttons has no title, and screen readers would announce an empty heading.
              title === '' ? (
                <td key={title} />
              ) : (
                <th
                  scope="col"
                  key={title}
                  class={`${numeric.includes(title) ? 'number' : ''} ${minor.includes(title) ? 'minor' : ''}`}
                >
                  {title}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
