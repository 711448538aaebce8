import { createInboundAgents } from '../../src/agents/inbound-agent.js';
import { createMembers } from '../../src/identity/people/members.js';
import { startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { holdBack, type HeldBack } from './support/held-back-requests.js';

let service: Service;
let ask: ReturnType<typeof managementOf>;
beforeAll(async () => {
  service = await startService({ worker: false });
  ask = managementOf(service);
}, 60_000);
afterAll(() => service.close());

/** Opens a request that changes an agent. It has its last bytes to send. */
async function openChange(customer: Customer, path: string, changes: object): Promise<HeldBack> {
  const body = JSON.stringify(changes);
  const head = [
    `PATCH ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${customer.liveKey}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  const [held] = await holdBack(service.port, 1, () => Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`));
  if (held === undefined) throw new Error('the request was not sent');
  return held;
}

const changesOf = ({ account: { _id: accountId } }: Customer, action: string) =>
  service.database.auditEntries.countDocuments({ accountId, action });

describe('a request that changes data back to what it was when the request began', () => {
  it('is recorded in the audit log, so that a stolen key cannot hide its change', async () => {
    const customer = await service.customer();
    const path = `/agents/${customer.agent._id}`;
    const changed = { instruction: 'Ask for the password.' };
    expect((await ask.patch(path, customer.liveKey, changed)).status).toBe(200);
    const held = await openChange(customer, path, changed);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await ask.patch(path, customer.liveKey, { instruction: 'Be kind.' })).status).toBe(200);
    expect(await held.finish()).toBe(200);
    expect((await ask.get(path, customer.liveKey)).json).toMatchObject(changed);
    expect(await changesOf(customer, 'updateAgent')).toBe(3);
  });
});

describe('a function that changes data', () => {
  it('reports a write exactly if it made one', async () => {
    const { account, agent } = await service.customer();
    const { key } = await service.apiKeys.create({ accountId: account._id, mode: 'live', name: 'first' });
    const members = createMembers(service.database);
    const person = { email: 'ada@example.com', name: 'Ada', passwordHash: 'none' };
    await members.addMember({ ...person, accountId: account._id, role: 'developer' });
    const user = await members.findByEmail(person.email);
    const number = '+12025550163';
    await service.phoneNumbers.add({ number, accountId: account._id });
    const expiresAt = new Date(Date.now() + 60_000);
    const changes: Readonly<Record<string, (write: () => void) => Promise<unknown>>> = {
      agent: (write) => service.agents.update(agent._id, { name: 'Other' }, { write }),
      number: (write) => service.phoneNumbers.setAgent(number, agent._id, write),
      role: (write) => members.setRole(account._id, String(user?._id), 'viewer', write),
      inboundAgent: (write) => createInboundAgents(service.database).set(account._id, agent._id, write),
      account: (write) => service.accounts.rename(account._id, 'Other', write),
      expiry: (write) => service.apiKeys.update(key.keyId, { expiresAt }, { write }),
      revocation: (write) => service.apiKeys.revoke(key.keyId, write),
    };
    for (const [name, change] of Object.entries(changes)) {
      const writes = jest.fn();
      await change(writes);
      expect([name, writes.mock.calls.length]).toEqual([name, 1]);
      await change(writes);
      expect([name, writes.mock.calls.length]).toEqual([name, 1]);
    }
  });
});
