import { developmentRoutes } from '../../../src/calls/development/contract.js';
import { createOperators } from '../../../src/identity/people/operators.js';
import { routes } from '../../../src/api/routes.js';
import { expectError, startService, type Service } from '../../support/http/harness.js';
import { managementOf } from '../../support/http/management-support.js';
import { createBrowser } from '../../support/http/portal-support.js';
import { PRODUCTION } from '../../support/production.js';

const KILL = '/portal/calls/call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN/kill_media_process';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());

describe('killing the media process of a call, in development', () => {
  it('is for operators, who learn that it is unavailable without a launcher', async () => {
    const member = createBrowser(service);
    const email = await member.signUp();
    const { json: session } = await member.get('/portal/session');
    const accountId = (session['account'] as { account_id: string }).account_id;
    const customer = { ...(await service.customer(0)), account: (await service.accounts.find(accountId))! };
    const callId = await managementOf(service).endedCall(customer, { mode: 'live' });
    const path = `/portal/calls/${callId}/kill_media_process`;
    expect(session).not.toHaveProperty('can_kill_processes');
    expectError(await member.post(path), 403, 'FORBIDDEN', /Only operators/);

    await createOperators(service.database).add(email);
    expect((await member.get('/portal/session')).json).toMatchObject({ can_kill_processes: true });
    expectError(await member.post(path), 409, 'CONFLICT', /npm start did not start this service/);
    expectError(await member.post(KILL), 404, 'CALL_NOT_FOUND');
  });

  it('is in no public interface', () => {
    const paths = Object.values(routes).map(({ path }) => path as string);
    for (const { path } of Object.values(developmentRoutes)) expect(paths).not.toContain(path);
  });
});

it('killing processes does not exist in production, also for operators', async () => {
  const production = await startService({ worker: false, env: { ...PRODUCTION, TRUST_PROXY: 'true' } });
  try {
    const customer = await production.customer(0);
    const headers = { 'X-Forwarded-Proto': 'https', 'Content-Type': 'application/json' };
    const asked = { method: 'POST', key: customer.liveKey, headers, body: '{}' };
    expectError(await production.request(KILL, asked), 404, 'NOT_FOUND', /no such endpoint/);
  } finally {
    await production.close();
  }
});
