import { createBulkhead, type SlotResult } from '../../src/platform/egress/bulkhead.js';

/** Names the only webhook endpoint of an account. */
const only = (name: string) => ({ accountId: `acct_${name}`, host: `${name}.example` });
const hasPlace = (place: SlotResult): place is { release(): void } => 'release' in place;

describe('slots for webhook requests', () => {
  it('are eight per endpoint, and the next request gets the time of its next attempt', () => {
    const places = createBulkhead();
    const taken = Array.from({ length: 8 }, () => places.tryAcquire(only('slow')));
    expect(taken.every(hasPlace)).toBe(true);
    expect(places.tryAcquire(only('slow'))).toEqual({ retryAfterMs: expect.any(Number) as number });
    expect(hasPlace(places.tryAcquire(only('other')))).toBe(true);
    const [first] = taken;
    if (first && hasPlace(first)) first.release();
    expect(hasPlace(places.tryAcquire(only('slow')))).toBe(true);
    expect(hasPlace(places.tryAcquire(only('slow')))).toBe(false);
  });

  it('are shared, so that many slow endpoints leave slots for others', () => {
    const places = createBulkhead({ total: 64, perTarget: 8 });
    const held: { release(): void }[] = [];
    const wantMore = () => {
      for (let endpoint = 0; endpoint < 20; endpoint++) {
        for (let post = 0; post < 20; post++) {
          const place = places.tryAcquire(only(`slow-${endpoint}`));
          if (hasPlace(place)) held.push(place);
        }
      }
    };
    wantMore();
    // Endpoints whose requests came first keep more slots than their share until these requests end.
    for (let post = 0; post < 100; post++) {
      held.shift()?.release();
      wantMore();
    }
    expect(held.length).toBeGreaterThan(40);
    for (let index = 0; index < 5; index++) expect(hasPlace(places.tryAcquire(only(`new-${index}`)))).toBe(true);
  });

  it('are 16 per account with any number of hosts, so that other accounts get some', () => {
    const places = createBulkhead();
    const held = Array.from({ length: 100 }, (_, index) =>
      places.tryAcquire({ accountId: 'acct_many', host: `host-${index}.example` }),
    );
    expect(held.filter(hasPlace)).toHaveLength(16);
    for (let index = 0; index < 5; index++) expect(hasPlace(places.tryAcquire(only(`new-${index}`)))).toBe(true);
    for (const place of held) if (hasPlace(place)) place.release();
    expect(hasPlace(places.tryAcquire({ accountId: 'acct_many', host: 'host-99.example' }))).toBe(true);
  });

  it('are requested again one after the other, at most half a minute later', () => {
    const places = createBulkhead({ total: 64, perTarget: 1 });
    expect(hasPlace(places.tryAcquire(only('slow')))).toBe(true);
    const waits = Array.from({ length: 400 }, () => places.tryAcquire(only('slow'))).map((place) =>
      hasPlace(place) ? 0 : place.retryAfterMs,
    );
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits[0]).toBeGreaterThanOrEqual(250);
    expect(waits[50]).toBeGreaterThan(4_000);
    expect(waits.at(-1)).toBe(30_000);
  });

  it('of the background are a part of all, so that its other activities continue', () => {
    const places = createBulkhead({ backgroundSlots: 10 });
    const inBackground = (index: number) => places.tryAcquire({ ...only(`host-${index}`), isBackground: true });
    const held = Array.from({ length: 30 }, (_, index) => inBackground(index));
    expect(held.filter(hasPlace)).toHaveLength(10);
    expect(hasPlace(places.tryAcquire(only('host-30')))).toBe(true);
    for (const place of held) if (hasPlace(place)) place.release();
    expect(hasPlace(inBackground(31))).toBe(true);
  });
});
