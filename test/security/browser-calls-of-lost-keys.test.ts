import { useWebStack, type WebStack } from '../integration/web/web-stack';
import { createMembers } from '../../src/identity/people/members.js';
import { legIdOf } from '../../src/telephony/web/leg.js';
import type { Customer } from '../support/http/harness.js';

jest.setTimeout(60_000);

let stack: WebStack;
let customer: Customer;
useWebStack((started) => ({ stack, customer } = started));

const keyIdOf = async (secret: string) => (await stack.service.apiKeys.authenticate(secret))!.key.keyId;

async function newKey(): Promise<string> {
  const { account } = customer;
  return (await stack.service.apiKeys.create({ accountId: account._id, mode: 'live', name: 'stolen' })).secret;
}

describe('a call in the browser of a key that is revoked', () => {
  it('ends within seconds, also that of a key made with it', async () => {
    const { key: parent } = (await stack.service.apiKeys.authenticate(await newKey()))!;
    const made = await stack.service.apiKeys.create({
      accountId: customer.account._id,
      mode: 'live',
      name: 'made with it',
      madeBy: parent,
    });
    const call = await stack.talk(made.secret);
    const other = await stack.talk(customer.liveKey);
    await stack.service.apiKeys.revoke(parent.keyId);
    expect(await call.line.closed()).toMatchObject({ reason: 'call_ended' });
    expect(await stack.ended(call.callId)).toMatchObject({ status: 'COMPLETED' });
    expect((await stack.leg(other.callId)).endedAt).toBeUndefined();
    other.line.closeTab();
  });

  it('admits no further socket', async () => {
    const secret = await newKey();
    const call = await stack.talk(secret);
    const token = call.line.reconnectToken();
    call.line.break();
    await stack.service.apiKeys.revoke(await keyIdOf(secret));
    const again = await stack.reopen(call, token);
    expect(await again.closed()).toMatchObject({ code: 1000 });
    expect(await stack.ended(call.callId)).not.toBeUndefined();
  });

  it('continues if the key only expires, which ends nothing that was begun before', async () => {
    const secret = await newKey();
    const call = await stack.talk(secret);
    const expiresAt = new Date(Date.now() - 1_000);
    await stack.service.database.apiKeys.updateOne({ keyId: await keyIdOf(secret) }, { $set: { expiresAt } });
    const { seenAt } = await stack.leg(call.callId);
    await stack.seenAfter(call.callId, seenAt);
    await stack.seenAfter(call.callId, (await stack.leg(call.callId)).seenAt);
    expect((await stack.leg(call.callId)).endedAt).toBeUndefined();
    call.line.closeTab();
  });
});

describe('a call in the browser of a member who is removed', () => {
  it('ends within seconds', async () => {
    const { database } = stack.service;
    const accountId = customer.account._id;
    const _id = `user_${accountId}`;
    const user = { _id, email: `${accountId.toLowerCase()}@example.com`, name: 'Grace', accountId, role: 'viewer' };
    await database.users.create([{ ...user, passwordHash: 'none', createdAt: new Date() }]);
    const call = await stack.talk(customer.liveKey);
    await database.webLegs.updateOne({ _id: legIdOf(call.callId) }, { $set: { openedBy: _id } });
    const { seenAt } = await stack.leg(call.callId);
    await stack.seenAfter(call.callId, seenAt);
    expect((await stack.leg(call.callId)).endedAt).toBeUndefined();
    await createMembers(database).remove(accountId, _id);
    expect(await call.line.closed()).toMatchObject({ reason: 'call_ended' });
  });
});
