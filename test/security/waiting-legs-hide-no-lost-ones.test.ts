import { randomBytes } from 'node:crypto';
import { encodeCrockford } from '../../src/kernel/ids.js';
import { legIdOf } from '../../src/telephony/web/leg.js';
import { createWebLegs } from '../../src/telephony/web/legs.js';
import { openTestDatabase } from '../support/store/test-database';

let database: Awaited<ReturnType<typeof openTestDatabase>>;
beforeAll(async () => {
  database = await openTestDatabase('waiting_legs');
});
afterAll(() => database.close());

/** As many as one search for lost legs looks at. */
const WAITING = 200;
const newLegId = () => legIdOf(`call_${encodeCrockford(randomBytes(16))}`);

/**
 * Accounts can request calls that no browser opens. Each has a leg that waits for a minute. A search for lost legs must not
 * find these in place of another account’s call whose connection broke.
 */
describe('calls that wait for their browser', () => {
  it('do not delay the end of a call that lost its browser', async () => {
    const legs = createWebLegs(database);
    const now = await legs.now();
    const leg = (seenMsAgo: number) => ({
      _id: newLegId(),
      accountId: 'acct_1',
      mode: 'test' as const,
      createdAt: new Date(now - seenMsAgo),
      expiresAt: new Date(now - seenMsAgo + 60_000),
      streamNumber: 0,
      seenAt: new Date(now - seenMsAgo),
      limitSeconds: 60,
      open: true,
    });
    await database.webLegs.insertMany(Array.from({ length: WAITING }, (_, n) => leg(45_000 + n)));
    const lost = { ...leg(31_000), startedAt: new Date(now - 40_000) };
    const expired = leg(61_000);
    await database.webLegs.insertMany([lost, expired]);
    expect((await legs.unreported()).map(({ _id }) => _id)).toEqual([expired._id, lost._id]);
  });
});
