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
  cards = false,
  children,
}: {
  label: string;
  head: readonly string[];
  /** Titles of the columns that contain numbers. Their cells have the class `number`. */
  numeric?: readonly string[];
  /** Titles of the columns that a phone has no room for. Their cells have the class `minor`. */
  minor?: readonly string[];
  /**
   * Whether a phone shows each row as a card, with the titles before the values. The roles of rows and cells keep it a table
   * for screen readers.
   */
  cards?: boolean;
  children: ComponentChildren;
}) {
  const wrap = `table-wrap ${cards ? 'cards-wrap' : ''}`;
  return (
    <div class={wrap} tabIndex={0} role="region" aria-label={label}>
      <table {...(cards ? { class: 'cards', role: 'table', style: titlesOf(head) } : {})}>
        <thead role="rowgroup">
          <tr role="row">
            {head.map((title) =>
              // A column of buttons has no title, and screen readers would announce an empty heading.
              title === '' ? (
                <td key={title} role="cell" />
              ) : (
                <th
                  scope="col"
                  role="columnheader"
                  key={title}
                  class={`${numeric.includes(title) ? 'number' : ''} ${minor.includes(title) ? 'minor' : ''}`}
                >
                  {title}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody role="rowgroup">{children}</tbody>
      </table>
    </div>
  );
}

/** Returns the titles of columns as the properties `--title-1` and so on, which the style sheet writes before values. */
function titlesOf(head: readonly string[]): Record<string, string> {
  return Object.fromEntries(head.map((title, index) => [`--title-${index + 1}`, JSON.stringify(title)]));
}
