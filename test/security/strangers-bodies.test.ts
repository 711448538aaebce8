import { eventually, startService, type Service } from '../support/http/harness.js';
import { createBrowser, PASSWORD } from '../support/http/portal-support.js';
import { rawRequest } from '../support/hostile-requests.js';
import { holdBack, madeRoom } from './support/held-back-requests.js';

/** Bodies of strangers that are read at the same time. */
const BODIES = 1_000;
/** Without the last bytes, as long as a stranger's body may be. */
const LONGEST = JSON.stringify({ email: 'ada@example.com', password: 'x'.repeat(16_000) });
const PATHS = ['/portal/sign-up', '/portal/log-in', '/portal/forgot-password', '/portal/verify-email'];

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false, leastTimeMs: 30_000 });
});
afterAll(() => service.close());

function requestOf(index: number): Buffer {
  const path = PATHS[index % PATHS.length] ?? '';
  const headers = { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin' };
  return rawRequest({ method: 'POST', path, headers, body: LONGEST });
}

describe('bodies of strangers in the portal', () => {
  it('hold little memory, since the oldest makes room, and keep no member out', async () => {
    const owner = createBrowser(service);
    const email = await owner.signUp();
    const held = await holdBack(service.port, BODIES, requestOf);
    await eventually(async () => {
      const logIn = await createBrowser(service).post('/portal/log-in', { email, password: PASSWORD });
      expect(logIn.status).toBe(200);
      return held.some(madeRoom);
    });
    expect(held.filter(madeRoom).length).toBeLessThan(BODIES / 10);
    // A member who is logged in is no stranger.
    const before = held.filter(madeRoom).length;
    expect((await owner.patch('/account', { name: 'Acme' })).status).toBe(200);
    expect(held.filter(madeRoom).length).toBe(before);
    for (const each of held) each.drop();
  }, 60_000);
});
