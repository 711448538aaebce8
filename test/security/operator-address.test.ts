import { routes } from '../../src/api/routes.js';
import type { Route } from '../../src/platform/http/contract/route.js';
import { createMembers } from '../../src/identity/people/members.js';
import { createOperators } from '../../src/identity/people/operators.js';
import { startService, type Answer, type Customer, type Service } from '../support/http/harness.js';
import { createBrowser, forgetLimits, memberOf, PASSWORD, type Browser } from '../support/http/portal-support.js';

const TEMPORAL_UI_URL = 'http://temporal-ui.internal:8233';
const SHOWN = 'temporal-ui.internal';

let service: Service;
let customer: Customer;
beforeAll(async () => {
  service = await startService({ worker: false, env: { TEMPORAL_UI_URL } });
  customer = await service.customer();
});
afterAll(() => service.close());
beforeEach(() => forgetLimits(service));

/** Every GET path, its parameters filled with things that do not exist. */
const READ_PATHS = Object.values<Route>(routes)
  .filter(({ method }) => method === 'get')
  .map(({ path }) => path.replace(/\{\w+\}/g, 'none'));

function told(answer: Answer): string {
  return JSON.stringify([...answer.headers]) + answer.text;
}

async function expectNothingShown(read: (path: string) => Promise<Answer>): Promise<void> {
  for (const path of [...READ_PATHS, '/portal', '/portal/calls/none', '/nowhere']) {
    expect({ path, shows: told(await read(path)).includes(SHOWN) }).toEqual({ path, shows: false });
  }
}

describe("the operator's Temporal address", () => {
  it('never reaches a stranger or the owner of an API key', async () => {
    await expectNothingShown((path) => service.request(path));
    await expectNothingShown((path) => service.request(path, { key: customer.liveKey }));
    await expectNothingShown((path) => service.request(path, { key: customer.testKey }));
  });

  it.each(['owner', 'developer', 'viewer'] as const)('never reaches a member who is %s of an account', async (role) => {
    const owner = createBrowser(service);
    await owner.signUp();
    const { browser } = await memberOf(service, owner, role);
    await expectNothingShown((path) => browser.get(path));
  });

  it('is in no answer that begins a session of a customer', async () => {
    const email = `${Date.now()}@example.com`;
    const owner = createBrowser(service);
    const answers = [
      await owner.post('/portal/sign-up', { email, password: PASSWORD, name: 'Ada', account_name: 'Acme' }),
      await createBrowser(service).post('/portal/log-in', { email, password: PASSWORD }),
      await owner.post('/portal/password', { current_password: PASSWORD, new_password: 'another horse battery' }),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(told(answer)).not.toContain(SHOWN);
    }
  });

  it('reaches a member who was made an operator, until that is taken back', async () => {
    const operator = createBrowser(service);
    const email = await operator.signUp();
    const addressOf = async (browser: Browser) => (await browser.get('/portal/session')).json['temporal_ui_url'];
    expect(await addressOf(operator)).toBeUndefined();
    await createOperators(service.database).add(email.toUpperCase());
    expect(await addressOf(operator)).toBe(`${TEMPORAL_UI_URL}/namespaces/default`);
    await createOperators(service.database).remove(email);
    expect(await addressOf(operator)).toBeUndefined();
  });

  it('does not reach who joins again by an invitation after an operator of that address was removed', async () => {
    const owner = createBrowser(service);
    await owner.signUp();
    const { browser, email, userId } = await memberOf(service, owner, 'owner');
    await createOperators(service.database).add(email);
    expect(told(await browser.get('/portal/session'))).toContain(SHOWN);
    expect((await owner.delete(`/portal/members/${userId}`)).status).toBe(200);
    const { token } = (await owner.post('/portal/invitations', { email, role: 'owner' })).json;
    const again = createBrowser(service);
    const joined = await again.post('/portal/accept-invitation', { token, name: 'Grace', password: PASSWORD });
    expect(joined.status).toBe(200);
    expect(told(joined)).not.toContain(SHOWN);
    expect(await createOperators(service.database).list()).toEqual([]);
  });

  it('cannot be had by a request that claims to be an operator', async () => {
    const owner = createBrowser(service);
    const person = { email: 'eve@example.com', password: PASSWORD, name: 'Eve', account_name: 'E', operator: true };
    expect((await owner.post('/portal/sign-up', person)).status).toBe(400);
    await owner.signUp();
    const { userId } = await memberOf(service, owner, 'viewer');
    const changed = await owner.patch(`/portal/members/${userId}`, { role: 'viewer', operator: true });
    expect(changed.status).toBe(400);
  });
});

it('is shown to nobody for an address that is not verified: whoever signed up with it may be a stranger', async () => {
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
