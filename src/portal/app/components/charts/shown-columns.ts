/**
 * Returns which columns a page of a chart shows, from `start` to before `end`: of a series the last ones first, of a
 * ranking the first ones.
 * @param p.room number of columns that fit
 */
export function shownColumns(p: { count: number; room: number; page: number; isSeries: boolean }) {
  const { count, room, page, isSeries } = p;
  return isSeries
    ? { start: Math.max(0, count - (page + 1) * room), end: count - page * room }
    : { start: page * room, end: Math.min(count, (page + 1) * room) };
}
