import { changedItems } from '../../src/voice/results/changed-items';

describe('the difference between a stored list and a longer one', () => {
  const [a, b, c, d] = [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }];

  it.each([
    ['nothing new', [a, b], [a, b], {}],
    ['new items at the end', [a, b], [a, b, c, d], { 'turns.2': c, 'turns.3': d }],
    ['a new item in the middle', [a, c], [a, b, c], { 'turns.1': b, 'turns.2': c }],
    ['the first item', [], [a], { 'turns.0': a }],
    ['an unknown stored list', undefined, [a], { turns: [a] }],
    ['an unknown stored list and an empty new one', undefined, [], { turns: [] }],
  ])('is a set of changed paths: %s', (_, stored, wanted, expected) => {
    expect(changedItems('turns', stored, wanted)).toEqual(expected);
  });

  it('is the whole list if most of it is new', () => {
    const many = Array.from({ length: 1_000 }, (_, n) => ({ n }));
    expect(changedItems('turns', [], many)).toEqual({ turns: many });
  });
});
