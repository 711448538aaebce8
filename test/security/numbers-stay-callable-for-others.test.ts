import type { Database } from '../../src/database.js';
import { createPlansLoader } from '../../src/platform/numbering/national-plans.js';
import { createUnansweredAttempts } from '../../src/telephony/destinations/unanswered-attempts.js';
import { newCallId, openTestDatabase } from '../support/store/test-database.js';

const TO = '+12025550140';

describe('unanswered attempts of one account', () => {
  let database: Database;
  beforeAll(async () => {
    database = await openTestDatabase('attempts');
  }, 60_000);
  afterAll(() => database.close());

  /** Lets accounts try the number, one after the other. Checks before each attempt as the API does. */
  function createPhone() {
    const attempts = createUnansweredAttempts({ database, pepper: newCallId(), loadPlans: createPlansLoader() });
    const attempt = (accountId: string) => ({ callId: newCallId(), leg: 'call' as const, to: TO, accountId });
    const isCalled = async (accountId: string, limit: number): Promise<boolean> => {
      const tried = attempt(accountId);
      const expected = await attempts.hasRoom(tried, limit);
      const counted = await attempts.count(tried, limit);
      expect(counted).toBe(expected);
      // A retry of a counted dial is the same attempt.
      if (counted) expect(await attempts.count(tried, limit)).toBe(true);
      return counted;
    };
    return {
      attempts,
      attempt,
      async callsBy(accountIds: string, limit = 5): Promise<string> {
        let called = '';
        for (const accountId of accountIds) called += (await isCalled(accountId, limit)) ? accountId : '-';
        return called;
      },
    };
  }

  it('leave the last two of the hour to accounts that have not tried the number', async () => {
    expect(await createPhone().callsBy('AAAAABBCD')).toBe('AAA--B-C-');
  });

  it('are all but the last two, whatever the limit, but at least one', async () => {
    for (const [limit, called] of [
      [0, '----'],
      [1, 'A---'],
      [2, 'A-B-'],
      [3, 'A-BC'],
      [4, 'AAB-C'],
    ] as const) {
      const tried = called.length === 5 ? 'AABBC' : 'AABC';
      expect([limit, await createPhone().callsBy(tried, limit)]).toEqual([limit, called]);
    }
  });

  it('are never more than the limit in all, even at once', async () => {
    const { attempts, attempt } = createPhone();
    const accounts = Array.from('AAAAAABBBBBBCCCCCC');
    const counted = await Promise.all(accounts.map((accountId) => attempts.count(attempt(accountId), 5)));
    expect(counted.filter(Boolean).length).toBeLessThanOrEqual(5);
    expect(counted.filter(Boolean).length).toBeGreaterThanOrEqual(3);
    expect(await attempts.count(attempt('D'), 5)).toBe(counted.filter(Boolean).length < 5);
  });
});
