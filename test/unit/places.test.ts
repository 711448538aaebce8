import { createPlaces, type Place } from '../../src/platform/egress/places.js';

/** A receiver of an account that has no other. */
const only = (name: string) => ({ accountId: `acct_${name}`, host: `${name}.example` });
const hasPlace = (place: Place): place is { giveBack(): void } => 'giveBack' in place;

describe('places for posts', () => {
  it('are eight for one receiver, and the ninth is told when to ask again', () => {
    const places = createPlaces();
    const taken = Array.from({ length: 8 }, () => places.take(only('slow')));
    expect(taken.every(hasPlace)).toBe(true);
    expect(places.take(only('slow'))).toEqual({ afterMs: expect.any(Number) as number });
    expect(hasPlace(places.take(only('other')))).toBe(true);
    const [first] = taken;
    if (first && hasPlace(first)) first.giveBack();
    expect(hasPlace(places.take(only('slow')))).toBe(true);
    expect(hasPlace(places.take(only('slow')))).toBe(false);
  });

  it('are shared out so that others find some beside many slow receivers that always want more', () => {
    const places = createPlaces({ total: 64, each: 8 });
    const held: { giveBack(): void }[] = [];
    const wantMore = () => {
      for (let receiver = 0; receiver < 20; receiver++) {
        for (let post = 0; post < 20; post++) {
          const place = places.take(only(`slow-${receiver}`));
          if (hasPlace(place)) held.push(place);
        }
      }
    };
    wantMore();
    // Those who came first have more than their share until their posts are over.
    for (let post = 0; post < 100; post++) {
      held.shift()?.giveBack();
      wantMore();
    }
    expect(held.length).toBeGreaterThan(40);
    for (let index = 0; index < 5; index++) expect(hasPlace(places.take(only(`new-${index}`)))).toBe(true);
  });

  it('are 16 for one account however many receivers it names, and some are left for every other one', () => {
    const places = createPlaces();
    const held = Array.from({ length: 100 }, (_, index) =>
      places.take({ accountId: 'acct_many', host: `host-${index}.example` }),
    );
    expect(held.filter(hasPlace)).toHaveLength(16);
    for (let index = 0; index < 5; index++) expect(hasPlace(places.take(only(`new-${index}`)))).toBe(true);
    for (const place of held) if (hasPlace(place)) place.giveBack();
    expect(hasPlace(places.take({ accountId: 'acct_many', host: 'host-99.example' }))).toBe(true);
  });

  it('are asked for again one behind the other, half a minute later at most', () => {
    const places = createPlaces({ total: 64, each: 1 });
    expect(hasPlace(places.take(only('slow')))).toBe(true);
    const waits = Array.from({ length: 400 }, () => places.take(only('slow'))).map((place) =>
      hasPlace(place) ? 0 : place.afterMs,
    );
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits[0]).toBeGreaterThanOrEqual(250);
    expect(waits[50]).toBeGreaterThan(4_000);
    expect(waits.at(-1)).toBe(30_000);
  });
});
