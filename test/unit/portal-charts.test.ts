import { shownColumns } from '../../src/portal/app/components/charts/shown-columns';

describe('a chart with more columns than fit', () => {
  it('begins with the last columns of a series, such as the newest days', () => {
    const shown = [0, 1, 2].map((page) => shownColumns({ count: 11, room: 4, page, isSeries: true }));
    expect(shown).toEqual([
      { start: 7, end: 11 },
      { start: 3, end: 7 },
      { start: 0, end: 3 },
    ]);
  });

  it('begins with the first columns of a ranking, such as the costliest agents', () => {
    const shown = [0, 1, 2].map((page) => shownColumns({ count: 11, room: 4, page, isSeries: false }));
    expect(shown).toEqual([
      { start: 0, end: 4 },
      { start: 4, end: 8 },
      { start: 8, end: 11 },
    ]);
  });
});
