import { eventually, startService, type Service } from '../support/http/harness.js';
import { createBrowser, PASSWORD } from '../support/http/portal-support.js';
import { rawRequest } from '../support/hostile-requests.js';
import { holdBack, wasEvicted } from './support/held-back-requests.js';

/** How many bodies of unauthenticated requests the service reads at the same time. */
const BODIES = 1_000;
/** A body of the maximum length for an unauthenticated request. The test does not send its last bytes. */
const LONGEST = JSON.stringify({ email: 'ada@example.com', password: 'x'.repeat(16_000) });
const PATHS = ['/portal/sign-up', '/portal/log-in', '/portal/forgot-password', '/portal/verify-email'];

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false, minDeadlineMs: 30_000 });
});
afterAll(() => service.close());

function requestOf(index: number): Buffer {
  const path = PATHS[index % PATHS.length] ?? '';
  const headers = { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin' };
  return rawRequest({ method: 'POST', path, headers, body: LONGEST });
}

describe('incomplete portal bodies without authentication', () => {
  it('are dropped, oldest first, and lock no member out', async () => {
    const owner = createBrowser(service);
    const email = await owner.signUp();
    const held = await holdBack(service.port, BODIES, requestOf);
    await eventually(async () => {
      const logIn = await createBrowser(service).post('/portal/log-in', { email, password: PASSWORD });
      expect(logIn.status).toBe(200);
      return held.some(wasEvicted);
    });
    expect(held.filter(wasEvicted).length).toBeLessThan(BODIES / 10);
    // A request with a login session is still served.
    const before = held.filter(wasEvicted).length;
    expect((await owner.patch('/account', { name: 'Acme' })).status).toBe(200);
    expect(held.filter(wasEvicted).length).toBe(before);
    for (const each of held) each.drop();
  }, 60_000);
});
