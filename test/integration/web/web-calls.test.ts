import { createLedger } from '../../../src/billing/ledger/ledger.js';
import { observe } from '../../../src/platform/telemetry/measurements.js';
import { legIdOf } from '../../../src/telephony/web/leg.js';
import { createWebLegs } from '../../../src/telephony/web/legs.js';
import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { eventually, type Customer } from '../../support/http/harness.js';
import { createBrowser } from '../../support/http/portal-support';
import { openBrowserLine } from './browser-line';
import { useWebStack, type WebStack } from './web-stack';

jest.setTimeout(120_000);

let stack: WebStack;
let customer: Customer;
useWebStack((started) => ({ stack, customer } = started));

const PRICE_PER_SECOND = 2_500;

async function balanceOf({ account }: Customer): Promise<{ availableMicros: number; heldMicros: number }> {
  return createLedger(stack.service.database).balance(ledgerAccountId(account._id, 'live'));
}

describe('a call in the browser', () => {
  it('is an inbound call with audio in both directions, and ends when the tab is closed', async () => {
    const call = await stack.talk(customer.liveKey, { agent_id: customer.agent._id, external_call_id: 'order-1' });
    expect(call.url).toBe(`${stack.service.config.streamUrl}/${call.callId}/web`);
    await stack.say(call.callId, call.line);
    call.line.closeTab();
    const ended = await stack.ended(call.callId);
    expect(ended).toMatchObject({ status: 'COMPLETED', endReason: 'caller_hangup', direction: 'inbound' });
    expect(ended.costMicros).toBe(ended.durationSeconds! * PRICE_PER_SECOND);
    expect(ended.durationSeconds).toBeGreaterThan(0);
    const view = await stack.service.request(`/calls/${call.callId}`, { key: customer.liveKey });
    expect(view.json).toMatchObject({
      from_phone_number: 'web:live',
      to_phone_number: 'web',
      call_direction: 'inbound',
    });
    const events = (view.json['timeline'] as { source: string; event: string }[])
      .filter(({ source }) => source === 'carrier')
      .map(({ event }) => event);
    expect(events).toEqual(['in-progress', 'completed']);
    expect(await stack.leg(call.callId)).toMatchObject({ open: false, endCause: 'caller' });
    expect(await balanceOf(customer)).toMatchObject({ heldMicros: 0 });
  });

  it('ends when the agent hangs up, after a last message to the browser', async () => {
    const call = await stack.talk(customer.liveKey);
    await stack.say(call.callId, call.line);
    call.scripted.sink.end('agent_hangup');
    expect(await call.line.closed()).toEqual({ reason: 'call_ended', code: 1000 });
    expect(await stack.ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup' });
  });

  it('ends when the agent hangs up, also if the connection breaks before the server closes it', async () => {
    const call = await stack.talk(customer.liveKey);
    await stack.say(call.callId, call.line);
    // The socket stays open while the engine stops.
    call.scripted.stopsAfterMs = 2_000;
    call.scripted.sink.end('agent_hangup');
    await eventually(async () => call.scripted.stopped);
    call.line.break();
    await eventually(async () => (await stack.leg(call.callId)).endedAt, 6_000);
    expect(await stack.leg(call.callId)).toMatchObject({ endCause: 'service' });
    expect(await stack.ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup' });
  });

  it('is billed to its end, also after its limit was raised', async () => {
    const call = await stack.talk(customer.liveKey);
    await stack.say(call.callId, call.line);
    await stack.service.database.webLegs.updateOne({ _id: legIdOf(call.callId) }, { $set: { limitSeconds: 600 } });
    await stack.age(call.callId, ['startedAt'], 70_000);
    call.line.closeTab();
    await stack.ended(call.callId);
    const { startedAt, endedAt } = await stack.leg(call.callId);
    expect(endedAt!.getTime() - startedAt!.getTime()).toBeGreaterThan(70_000);
  });

  it('ends when the browser says stop', async () => {
    const call = await stack.talk(customer.liveKey);
    await stack.say(call.callId, call.line);
    call.line.say({ event: 'stop' });
    expect(await stack.ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'caller_hangup' });
  });

  it('ends when the account hangs it up', async () => {
    const call = await stack.talk(customer.liveKey);
    await stack.say(call.callId, call.line);
    const response = await stack.service.request(`/calls/${call.callId}/cancel`, {
      method: 'POST',
      key: customer.liveKey,
    });
    expect(response.json).toMatchObject({ result: 'hung_up', end_reason: 'api_hangup' });
    expect(await call.line.closed()).toMatchObject({ reason: 'call_ended' });
  });

  it('of a test key is a test call, which costs no money', async () => {
    const { availableMicros } = await balanceOf(customer);
    const call = await stack.talk(customer.testKey);
    await stack.say(call.callId, call.line);
    call.line.closeTab();
    expect(await stack.ended(call.callId)).toMatchObject({ status: 'COMPLETED', mode: 'test' });
    expect(await balanceOf(customer)).toMatchObject({ availableMicros });
  });

  it('that no browser opens is canceled and costs nothing', async () => {
    const { availableMicros } = await balanceOf(customer);
    const call = await stack.create(customer.liveKey);
    await stack.age(call.callId, ['createdAt', 'expiresAt', 'seenAt'], 61_000);
    const ended = await stack.ended(call.callId);
    expect(ended).toMatchObject({ status: 'CANCELLED', endReason: 'caller_hangup', costMicros: 0 });
    expect(await balanceOf(customer)).toEqual({ ...(await balanceOf(customer)), availableMicros, heldMicros: 0 });
    const late = await openBrowserLine(call);
    expect(await late.closed()).toEqual({ reason: 'rejected', code: 1008 });
  });

  it('has the abilities of its agent, except that it cannot be transferred', async () => {
    const { _id } = customer.agent;
    await stack.service.database.agents.updateOne({ _id }, { transferNumbers: ['+12025550143'] });
    const { scripted, line } = await stack.talk(customer.liveKey, { agent_id: _id });
    expect(scripted.call.tools.map(({ name }) => name)).not.toContain('transfer_call');
    line.closeTab();
  });

  it('of a member has the name of the member, until the call is erased', async () => {
    const browser = createBrowser(stack.service);
    await browser.signUp();
    const { status, json } = await browser.post('/web_calls?mode=test', { instruction: 'Ask for the day.' });
    expect(status).toBe(200);
    const callId = String(json['call_id']);
    const line = await openBrowserLine({ url: String(json['url']), token: String(json['token']) });
    await line.ready();
    line.closeTab();
    await stack.ended(callId);
    const read = () => browser.get(`/calls/${callId}?mode=test`);
    expect((await read()).json).toMatchObject({ from_phone_number: 'web:Ada', mode: 'test' });
    await browser.post(`/calls/${callId}/erase?mode=test`);
    expect((await read()).json).toMatchObject({ from_phone_number: '', to_phone_number: '' });
    expect(JSON.stringify(await stack.leg(callId))).not.toContain('Ada');
  });

  it('of a member without a name does not have the e-mail address instead', async () => {
    const browser = createBrowser(stack.service);
    await browser.signUp();
    await stack.service.database.users.updateMany({}, { name: '' });
    const { json } = await browser.post('/web_calls?mode=test', { instruction: 'Ask for the day.' });
    const request = await stack.service.database.callRequests.findById(json['call_id']).lean();
    expect(request?.fromPhoneNumber).toBe('web:member');
  });

  it('sends a new token with the first message', async () => {
    const call = await stack.create(customer.liveKey);
    const line = await openBrowserLine(call);
    const { reconnect_token: token } = await line.ready();
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(token).not.toBe(call.token);
    line.closeTab();
  });
});

describe('a call in the browser that loses its socket', () => {
  it('continues on another media server, and is billed once; its loss does not count as one of a phone', async () => {
    const losses: object[] = [];
    const forget = observe('nextStream', (loss) => void losses.push(loss));
    await stack.listenOther();
    const call = await stack.talk(customer.liveKey);
    await stack.say(call.callId, call.line);
    call.line.break();
    const again = await stack.reopen(call, call.line.reconnectToken(), stack.otherPort);
    await again.ready();
    again.speak();
    const resumed = await eventually(async () => {
      const scripted = await stack.scripted(call.callId);
      return scripted.call.resume && scripted;
    });
    expect(resumed.call.resume).toMatchObject({ turns: [] });
    again.closeTab();
    const ended = await stack.ended(call.callId);
    expect(ended).toMatchObject({ status: 'COMPLETED', endReason: 'caller_hangup', resumptions: 1 });
    expect(ended.costMicros).toBe(ended.durationSeconds! * PRICE_PER_SECOND);
    forget();
    expect(losses).toEqual([{ mode: 'live', line: 'browser', cause: 'failure', decision: 'stream' }]);
  });

  it('continues with its first token if the message with the next one was lost', async () => {
    const call = await stack.create(customer.liveKey);
    const lost = await openBrowserLine({ ...call, isDeaf: true });
    await lost.ready();
    lost.break();
    const again = await openBrowserLine(call);
    await again.ready();
    await stack.tokenUsedUp(call.callId);
    const late = await openBrowserLine(call);
    expect(await late.closed()).toEqual({ reason: 'rejected', code: 1008 });
    again.closeTab();
    expect(await stack.ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'caller_hangup' });
  });

  it('ended when it lost it if no other socket comes', async () => {
    const call = await stack.talk(customer.liveKey);
    await stack.say(call.callId, call.line);
    const before = await createWebLegs(stack.service.database).now();
    call.line.break();
    await eventually(async () => (await stack.leg(call.callId)).seenAt.getTime() >= before);
    await stack.age(call.callId, ['startedAt'], 10_000);
    await stack.age(call.callId, ['startedAt', 'seenAt', 'createdAt'], 31_000);
    const { startedAt, seenAt } = await stack.leg(call.callId);
    const ended = await stack.ended(call.callId);
    const seconds = Math.ceil((seenAt.getTime() - startedAt!.getTime()) / 1_000);
    expect(seconds).toBeGreaterThanOrEqual(10);
    expect(ended).toMatchObject({ status: 'COMPLETED', endReason: 'caller_hangup', durationSeconds: seconds });
    expect(await stack.leg(call.callId)).toMatchObject({ endCause: 'lost', open: false });
    const late = await stack.reopen(call, call.line.reconnectToken());
    expect(await late.closed()).toEqual({ reason: 'call_ended', code: 1000 });
  });

  it('continues on a second socket that comes before the first one is lost', async () => {
    const call = await stack.talk(customer.liveKey);
    await stack.say(call.callId, call.line);
    const second = await stack.reopen(call, call.line.reconnectToken());
    await second.ready();
    expect(await call.line.closed()).toMatchObject({ reason: 'replaced' });
    second.closeTab();
    expect(await stack.ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'caller_hangup' });
  });
});
