import { request as httpRequest } from 'node:http';
import { createPortalLimits } from '../../src/identity/sign-in/limits.js';
import { createPasswords, PasswordsBusyError } from '../../src/identity/people/passwords.js';
import type { ApiContext } from '../../src/platform/http/context.js';
import { startService, type Service } from '../support/http/harness.js';
import { createBrowser, forgetLimits } from '../support/http/portal-support.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());
beforeEach(() => forgetLimits(service));

/** A log-in whose last byte comes long after its headers. */
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

/** Tries a password six times from one address; the sixth is refused unless the others were taken back. */
async function outcomesOf(check: (hashing: <R>(hash: Promise<R>) => Promise<R>) => Promise<undefined>) {
  const limits = createPortalLimits({ config: service.config, database: service.database });
  const ctx = { get: () => '', set: () => undefined, req: { socket: { remoteAddress: '198.51.100.9' } } };
  const outcomes: string[] = [];
  for (let count = 0; count < 6; count++) {
    const tried = limits.tryPassword(ctx as unknown as ApiContext, 'logIn', 'ada@example.com', check);
    outcomes.push(await tried.then(String, (error: Error) => error.message));
  }
  return outcomes;
}

describe('password hashing is never had for free', () => {
  it('by a body that ends late: the try is answered and counted', async () => {
    const email = await createBrowser(service).signUp();
    const statuses = await Promise.all(Array.from({ length: 7 }, () => lateLogIn(email, 8_500)));
    expect(statuses.toSorted((a, b) => a - b)).toEqual([401, 401, 401, 401, 401, 429, 429]);
  }, 40_000);

  it('by a try that fails after its hash began', async () => {
    const outcomes = await outcomesOf(async (hashing) => {
      await hashing(Promise.resolve());
      throw new Error('late');
    });
    expect(outcomes).toEqual(['late', 'late', 'late', 'late', 'late', expect.stringContaining('Too many requests')]);
  });

  it('while a try for which there was no room costs none', async () => {
    const outcomes = await outcomesOf(async (hashing) => {
      await hashing(Promise.reject(new PasswordsBusyError()));
      return undefined;
    });
    expect(new Set(outcomes)).toEqual(new Set(['Too many passwords wait to be checked.']));
  });

  it('and no room once does not refuse unknown addresses for ever', async () => {
    const passwords = createPasswords();
    const busy = Array.from({ length: 63 }, () => passwords.hash('correct horse battery'));
    await expect(passwords.verify('wrong horse battery', undefined)).rejects.toThrow(PasswordsBusyError);
    await Promise.all(busy);
    expect(await passwords.verify('wrong horse battery', undefined)).toBe(false);
  }, 40_000);
});
