import { routes } from '../../src/api/routes.js';
import type { Route } from '../../src/platform/http/contract/route.js';
import { createMembers } from '../../src/identity/people/members.js';
import { createOperators } from '../../src/identity/people/operators.js';
import { startService, type ServiceResponse, type Customer, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits, memberOf, PASSWORD, type Browser } from '../support/http/portal-support.js';

const TEMPORAL_UI_URL = 'http://temporal-ui.internal:8233';
const SHOWN = 'temporal-ui.internal';

let service: Service;
let customer: Customer;
beforeAll(async () => {
  service = await startService({ worker: false, env: { TEMPORAL_UI_URL } });
  customer = await service.customer();
});
afterAll(() => service.close());
beforeEach(() => resetRateLimits(service));

/** Every path that can be read with GET. Its parameters are replaced by values that match nothing. */
const READ_PATHS = Object.values<Route>(routes)
  .filter(({ method }) => method === 'get')
  .map(({ path }) => path.replace(/\{\w+\}/g, 'none'));

function contentOf(answer: ServiceResponse): string {
  return JSON.stringify([...answer.headers]) + answer.text;
}

async function expectNothingShown(read: (path: string) => Promise<ServiceResponse>): Promise<void> {
  for (const path of [...READ_PATHS, '/portal', '/portal/calls/none', '/nowhere']) {
    expect({ path, shows: contentOf(await read(path)).includes(SHOWN) }).toEqual({ path, shows: false });
  }
}

describe("the operator's Temporal address", () => {
  it('is not shown without authentication or to an API key', async () => {
    await expectNothingShown((path) => service.request(path));
    await expectNothingShown((path) => service.request(path, { key: customer.liveKey }));
    await expectNothingShown((path) => service.request(path, { key: customer.testKey }));
  });

  it.each(['owner', 'developer', 'viewer'] as const)('is not shown to a member with the role %s', async (role) => {
    const owner = createBrowser(service);
    await owner.signUp();
    const { browser } = await memberOf(service, owner, role);
    await expectNothingShown((path) => browser.get(path));
  });

  it('is in no response that starts a customer’s session', async () => {
    const email = `${Date.now()}@example.com`;
    const owner = createBrowser(service);
    const responses = [
      await owner.post('/portal/sign-up', { email, password: PASSWORD, name: 'Ada', account_name: 'Acme' }),
      await createBrowser(service).post('/portal/log-in', { email, password: PASSWORD }),
      await owner.post('/portal/password', { current_password: PASSWORD, new_password: 'another horse battery' }),
    ];
    for (const answer of responses) {
      expect(answer.status).toBe(200);
      expect(contentOf(answer)).not.toContain(SHOWN);
    }
  });

  it('is shown to a portal operator until that is revoked', async () => {
    const operator = createBrowser(service);
    const email = await operator.signUp();
    const addressOf = async (browser: Browser) => (await browser.get('/portal/session')).json['temporal_ui_url'];
    expect(await addressOf(operator)).toBeUndefined();
    await createOperators(service.database).add(email.toUpperCase());
    expect(await addressOf(operator)).toBe(`${TEMPORAL_UI_URL}/namespaces/default`);
    await createOperators(service.database).remove(email);
    expect(await addressOf(operator)).toBeUndefined();
  });

  it('is not shown to an invited member with the address of a removed portal operator', async () => {
    const owner = createBrowser(service);
    await owner.signUp();
    const { browser, email, userId } = await memberOf(service, owner, 'owner');
    await createOperators(service.database).add(email);
    expect(contentOf(await browser.get('/portal/session'))).toContain(SHOWN);
    expect((await owner.delete(`/portal/members/${userId}`)).status).toBe(200);
    const { token } = (await owner.post('/portal/invitations', { email, role: 'owner' })).json;
    const again = createBrowser(service);
    const joined = await again.post('/portal/accept-invitation', { token, name: 'Grace', password: PASSWORD });
    expect(joined.status).toBe(200);
    expect(contentOf(joined)).not.toContain(SHOWN);
    expect(await createOperators(service.database).list()).toEqual([]);
  });

  it('is not shown to a request that claims to be an operator', async () => {
    const owner = createBrowser(service);
    const person = { email: 'eve@example.com', password: PASSWORD, name: 'Eve', account_name: 'E', operator: true };
    expect((await owner.post('/portal/sign-up', person)).status).toBe(400);
    await owner.signUp();
    const { userId } = await memberOf(service, owner, 'viewer');
    const changed = await owner.patch(`/portal/members/${userId}`, { role: 'viewer', operator: true });
    expect(changed.status).toBe(400);
  });
});

it('a member with an unverified address cannot become a portal operator, since anybody may have signed up with it', async () => {
  const email = 'unverified-operator@example.com';
  const person = { email, name: 'Eve', passwordHash: 'none', accountName: 'Evil', unverified: true as const };
  const { _id } = await createMembers(service.database).signUp(person);
  const adding = createOperators(service.database).add(email);
  await expect(adding).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(/not verified.*verify-link/),
  });
  expect(await createMembers(service.database).findById(_id)).not.toHaveProperty('operator');
});
