import { setTimeout as sleep } from 'node:timers/promises';
import { openBrowserLine } from '../integration/web/browser-line';
import { useWebStack, type WebStack } from '../integration/web/web-stack';
import { createWebLegs } from '../../src/telephony/web/legs.js';
import { eventually, type Customer } from '../support/http/harness.js';

jest.setTimeout(120_000);

/** The interval of heartbeats of this stack. */
const BEATS_EVERY_MS = 500;
const BYTES_PER_SECOND = 8_000;

let stack: WebStack;
let customer: Customer;
useWebStack((started) => ({ stack, customer } = started));

/** Begins a call of a browser that returns no marks, and speaks. */
async function speakWithoutMarks() {
  const call = await stack.create(customer.liveKey);
  const line = await openBrowserLine({ ...call, isMute: true });
  await line.ready();
  line.speak();
  return { call, line };
}

/** Breaks the connection, and waits until the service has last seen the browser after that. */
async function breakLine(callId: string, line: { break: () => void }): Promise<void> {
  const before = await createWebLegs(stack.service.database).now();
  line.break();
  await eventually(async () => {
    const { seenAt } = await stack.leg(callId);
    // A heartbeat may be under way.
    await sleep(BEATS_EVERY_MS + 200);
    return seenAt.getTime() >= before && (await stack.leg(callId)).seenAt.getTime() === seenAt.getTime();
  });
}

/** Begins a call in which the agent does not speak, and breaks its connection after 2 s. */
async function breakUnheard(): Promise<string> {
  const { call, line } = await speakWithoutMarks();
  await stack.scripted(call.callId);
  await sleep(2_000);
  await breakLine(call.callId, line);
  return call.callId;
}

/** Moves the beginning of the conversation to that of the line, whose times the test has changed. */
async function alignResult(callId: string) {
  const leg = await stack.leg(callId);
  const { startedAt } = leg;
  await stack.service.database.conversationResults.updateOne({ _id: callId }, { $set: { startedAt } });
  return leg;
}

describe('a browser that returns no marks and drops its connection, to talk for free', () => {
  it('pays for the call in which the agent spoke to it', async () => {
    const { call, line } = await speakWithoutMarks();
    const { sink } = await stack.scripted(call.callId);
    sink.sendAudio('item', Buffer.alloc(3 * BYTES_PER_SECOND, 0x7f));
    await line.next('media');
    await sleep(2_000);
    await breakLine(call.callId, line);
    await stack.age(call.callId, ['startedAt'], 10_000);
    await stack.age(call.callId, ['startedAt', 'seenAt', 'createdAt'], 31_000);
    const { startedAt, seenAt } = await stack.leg(call.callId);
    const seconds = Math.ceil((seenAt.getTime() - startedAt!.getTime()) / 1_000);
    expect(await stack.ended(call.callId)).toMatchObject({
      status: 'COMPLETED',
      endReason: 'caller_hangup',
      durationSeconds: seconds,
      costMicros: seconds * 2_500,
    });
  });

  it('pays for a call of more than 30 s in which the agent only listened', async () => {
    const callId = await breakUnheard();
    await stack.age(callId, ['startedAt'], 40_000);
    await stack.age(callId, ['startedAt', 'seenAt', 'createdAt'], 31_000);
    const { startedAt, seenAt } = await alignResult(callId);
    const seconds = Math.ceil((seenAt.getTime() - startedAt!.getTime()) / 1_000);
    expect(seconds).toBeGreaterThan(40);
    expect(await stack.ended(callId)).toMatchObject({
      status: 'COMPLETED',
      durationSeconds: seconds,
      costMicros: seconds * 2_500,
    });
  });

  it('pays nothing if the line broke within 30 s and the agent was not heard, even if the call is ended later', async () => {
    const lost = await breakUnheard();
    await stack.age(lost, ['startedAt', 'createdAt'], 45_000);
    await stack.age(lost, ['seenAt'], 31_000);
    await alignResult(lost);
    expect(await stack.ended(lost)).toMatchObject({ status: 'FAILED', endReason: 'media_failed', costMicros: 0 });

    const canceled = await breakUnheard();
    await stack.age(canceled, ['startedAt', 'createdAt'], 40_000);
    await stack.age(canceled, ['seenAt'], 20_000);
    await alignResult(canceled);
    await stack.service.request(`/calls/${canceled}/cancel`, { method: 'POST', key: customer.liveKey });
    expect(await stack.ended(canceled)).toMatchObject({ costMicros: 0 });
    const { startedAt, seenAt, endedAt } = await stack.leg(canceled);
    expect(seenAt.getTime() - startedAt!.getTime()).toBeLessThan(30_000);
    expect(endedAt!.getTime() - startedAt!.getTime()).toBeGreaterThan(30_000);
  });
});
