import { request as httpRequest } from 'node:http';
import { createPortalLimits } from '../../src/identity/sign-in/limits.js';
import { createPasswords, PasswordsBusyError } from '../../src/identity/people/passwords.js';
import type { ApiContext } from '../../src/platform/http/context.js';
import { startService, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits } from '../support/http/portal-support.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());
beforeEach(() => resetRateLimits(service));

/** Sends a log-in whose last byte arrives `heldMs` after the headers. */
function lateLogIn(email: string, heldMs: number): Promise<number> {
  const text = JSON.stringify({ email, password: 'wrong horse battery' });
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${service.baseUrl}/portal/log-in`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(text),
        'Sec-Fetch-Site': 'same-origin',
      },
    });
    request.on('response', (response) => resolve(response.resume().statusCode ?? 0)).on('error', reject);
    request.write(text.slice(0, -1));
    setTimeout(() => request.end(text.slice(-1)), heldMs);
  });
}

/** Tries a password six times from one address. The sixth attempt is rejected if all five earlier ones were counted. */
async function outcomesOf(check: (hashing: <R>(hash: Promise<R>) => Promise<R>) => Promise<undefined>) {
  const limits = createPortalLimits({ config: service.config, database: service.database });
  const ctx = { state: {}, get: () => '', set: () => undefined, req: { socket: { remoteAddress: '198.51.100.9' } } };
  const outcomes: string[] = [];
  for (let count = 0; count < 6; count++) {
    const tried = limits.tryPassword(ctx as unknown as ApiContext, 'logIn', 'ada@example.com', check);
    outcomes.push(await tried.then(String, (error: Error) => error.message));
  }
  return outcomes;
}

describe('the hash of a password', () => {
  it('counts as an attempt if the body ends late', async () => {
    const email = await createBrowser(service).signUp();
    const statuses = await Promise.all(Array.from({ length: 7 }, () => lateLogIn(email, 8_500)));
    expect(statuses.toSorted((a, b) => a - b)).toEqual([401, 401, 401, 401, 401, 429, 429]);
  }, 40_000);

  it('counts as an attempt if the request fails after the hash started', async () => {
    const outcomes = await outcomesOf(async (hashing) => {
      await hashing(Promise.resolve());
      throw new Error('late');
    });
    expect(outcomes).toEqual(['late', 'late', 'late', 'late', 'late', expect.stringContaining('Too many requests')]);
  });

  it('does not count as an attempt if the hash queue is full', async () => {
    const outcomes = await outcomesOf(async (hashing) => {
      await hashing(Promise.reject(new PasswordsBusyError()));
      return undefined;
    });
    expect(new Set(outcomes)).toEqual(new Set(['Too many password checks are waiting.']));
  });

  it('is computed again for unknown addresses after the hash queue was full', async () => {
    const passwords = createPasswords();
    const busy = Array.from({ length: 63 }, () => passwords.hash('correct horse battery'));
    await expect(passwords.verify('wrong horse battery', undefined)).rejects.toThrow(PasswordsBusyError);
    await Promise.all(busy);
    expect(await passwords.verify('wrong horse battery', undefined)).toBe(false);
  }, 40_000);
});
