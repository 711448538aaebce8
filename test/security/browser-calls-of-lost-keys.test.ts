import { useWebStack, type WebStack } from '../integration/web/web-stack';
import type { Customer } from '../support/http/harness.js';
import { createBrowser, memberOf } from '../support/http/portal-support.js';

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

describe('a call in the browser of a member', () => {
  /** Begins a call in the portal of a developer. */
  async function talkAsMember() {
    const owner = createBrowser(stack.service);
    await owner.signUp();
    const member = await memberOf(stack.service, owner, 'developer');
    const { json } = await member.browser.post('/web_calls', { instruction: 'Ask for the day.' });
    const { call_id: callId, url, token } = json as { call_id: string; url: string; token: string };
    const call = await stack.talkIn({ callId, url, token });
    await stack.seenAfter(callId, (await stack.leg(callId)).seenAt);
    expect((await stack.leg(callId)).endedAt).toBeUndefined();
    return { owner, member, call };
  }

  it('ends within seconds when the member is removed', async () => {
    const { owner, member, call } = await talkAsMember();
    expect((await owner.delete(`/portal/members/${member.userId}`)).status).toBe(200);
    expect(await call.line.closed()).toMatchObject({ reason: 'call_ended' });
  });

  it('ends within seconds when the session ends', async () => {
    const { member, call } = await talkAsMember();
    expect((await member.browser.post('/portal/log-out')).status).toBe(200);
    expect(await call.line.closed()).toMatchObject({ reason: 'call_ended' });
  });
});
