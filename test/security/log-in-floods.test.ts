import { setMaxListeners } from 'node:events';
import { request as httpRequest } from 'node:http';
import * as argon2 from '@node-rs/argon2';
import { createPasswords } from '../../src/identity/people/passwords.js';
import { networksOf } from '../../src/platform/egress/client-address.js';
import { startService, type Service } from '../support/http/harness.js';
import { createBrowser, PASSWORD } from '../support/http/portal-support.js';

const HASH_MS = 1_200;
let isSlow = false;

/** Delays the hash as a long queue would, without using CPU time, because other tests share this machine. */
const withDelay =
  <Given extends unknown[], T>(work: (...given: Given) => Promise<T>) =>
  async (...given: Given): Promise<T> => {
    if (isSlow) await new Promise((resolve) => setTimeout(resolve, HASH_MS));
    return work(...given);
  };
const slowPasswords = () => createPasswords({ hash: withDelay(argon2.hash), verify: withDelay(argon2.verify) });

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false, env: { TRUST_PROXY: 'true' }, passwords: slowPasswords() });
});
afterAll(() => service.close());
afterEach(() => (isSlow = false));

const logIn = (email: string, address: string) =>
  createBrowser(service).send('POST', '/portal/log-in', { email, password: PASSWORD }, { 'X-Forwarded-For': address });

/** Sends a log-in request and disconnects before the response. */
function abandonLogIn(email: string, address: string): Promise<void> {
  return new Promise((resolve) => {
    const body = JSON.stringify({ email, password: PASSWORD });
    const request = httpRequest(`${service.baseUrl}/portal/log-in`, {
      method: 'POST',
      agent: false,
      headers: {
        'Content-Type': 'application/json',
        'Content-Length': body.length,
        'X-Forwarded-For': address,
        'Sec-Fetch-Site': 'same-origin',
      },
    });
    request.on('error', () => undefined).on('close', resolve);
    request.end(body);
    setTimeout(() => request.destroy(), 3_000);
  });
}

describe('during a flood of log-ins', () => {
  it('a user in another network can log in, however many /64s of a /48 the flood uses', async () => {
    const email = await createBrowser(service).signUp();
    isSlow = true;
    const flood = Array.from({ length: 50 }, (_, which) =>
      logIn(`nobody${which}@example.com`, `2001:db8:7:${which.toString(16)}::1`),
    );
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect((await logIn(email, '203.0.113.7')).status).toBe(200);
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([401, 503]));
  }, 60_000);

  it('no time is spent on clients that disconnect', async () => {
    const email = await createBrowser(service).signUp();
    isSlow = true;
    await Promise.all(
      Array.from({ length: 50 }, (_, which) => abandonLogIn(`gone${which}@example.com`, `198.51.100.${which}`)),
    );
    expect((await logIn(email, '198.51.100.200')).status).toBe(200);
  }, 60_000);

  it('networks share the hash queue fairly, and the largest one loses what does not fit', async () => {
    const passwords = createPasswords();
    const done: string[] = [];
    const ask = (name: string, address: string, until?: AbortSignal) =>
      passwords.hash(name, { groups: networksOf(address), ...(until ? { signal: until } : {}) }).then(
        () => done.push(name),
        ({ name: fault }: Error) => done.push(`${name}: ${fault}`),
      );
    const over = new AbortController();
    setMaxListeners(100, over.signal);
    const flood = Array.from({ length: 63 }, (_, which) =>
      ask('flood', `2001:db8:7:${which.toString(16)}::/64`, over.signal),
    );
    await Promise.all([
      ask('same provider', '2001:db8:8:1::/64'),
      ask('other', '203.0.113.7'),
      ask('another', '2001:db9:1:1::/64'),
    ]);
    expect(done.filter((name) => name === 'flood: PasswordsBusyError')).toHaveLength(3);
    expect(done.filter((name) => name === 'flood').length).toBeLessThan(20);

    // Requests that still wait in the queue at their deadline are dropped before the password is hashed.
    over.abort(Object.assign(new Error('late'), { name: 'Late' }));
    await Promise.all(flood);
    expect(done.filter((name) => name === 'flood: Late').length).toBeGreaterThan(30);
  }, 60_000);
});
