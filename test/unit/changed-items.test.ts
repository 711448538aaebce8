import { changedItems } from '../../src/voice/results/changed-items';

describe('the difference between a stored list and a longer one', () => {
  const [a, b, c, d] = [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }];

  it.each([
    ['nothing new', [a, b], [a, b], {}],
    ['new ones at its end', [a, b], [a, b, c, d], { 'turns.2': c, 'turns.3': d }],
    ['one between', [a, c], [a, b, c], { 'turns.1': b, 'turns.2': c }],
    ['the first ones', [], [a], { 'turns.0': a }],
    ['a list that is not known', undefined, [a], { turns: [a] }],
    ['a list that is not known and empty', undefined, [], { turns: [] }],
  ])('is told as paths: %s', (_, stored, wanted, expected) => {
    expect(changedItems('turns', stored, wanted)).toEqual(expected);
  });

  it('is the whole list when much is new', () => {
    const many = Array.from({ length: 1_000 }, (_, n) => ({ n }));
    expect(changedItems('turns', [], many)).toEqual({ turns: many });
  });
});
