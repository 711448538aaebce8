import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLedger } from '../../../src/billing/ledger/ledger.js';
import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { eventually } from '../../support/http/harness.js';
import { freePort, startRole } from '../../support/role-process.js';
import { openBrowserLine } from './browser-line';
import { startWebStack, type WebStack } from './web-stack';

jest.setTimeout(180_000);

let stack: WebStack;
let delivered = 0;
const receiver = createServer((request, response) => {
  delivered += 1;
  request.resume();
  response.end();
});
beforeAll(async () => {
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  stack = await startWebStack({ worker: false });
}, 120_000);
afterAll(async () => {
  await stack.close();
  receiver.closeAllConnections();
  receiver.close();
});

describe('a call in the browser whose media process and worker are killed', () => {
  it('continues in the same tab, and is billed and delivered once', async () => {
    const { service } = stack;
    const port = await freePort();
    const [media, worker] = await Promise.all([
      startRole('media', { ...stack.roleEnv, MEDIA_PORT: String(port) }),
      startRole('worker', stack.roleEnv),
    ]);
    const customer = await service.customer();
    const { account, liveKey } = customer;
    const call = await eventually(async () => {
      const response = await stack.request(liveKey, {
        instruction: 'I am calling about your table. Say goodbye.',
        webhook_url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
      });
      return response.status === 200 && (response.json as { call_id: string; url: string; token: string });
    });
    const callId = call.call_id;
    const line = await openBrowserLine({ url: stack.urlAt(callId, port), token: call.token });
    await line.ready();
    line.speak();
    await line.next('media');
    const heard = await eventually(async () => {
      const result = await service.database.conversationResults.findById(callId).lean();
      return result?.agentAudioPlayed === true && result;
    });
    expect(heard.turns.length).toBeLessThan(3);

    await Promise.all([media.kill(), worker.kill()]);
    await line.closed();
    const own = service.startWorker();
    // While the worker starts, the service may ask the browser to come again.
    const again = await eventually(async () => {
      const next = await openBrowserLine({ url: stack.urlAt(callId, stack.mediaPort), token: line.reconnectToken() });
      const isReady = await Promise.race([next.ready().then(() => true), next.closed().then(() => false)]);
      return isReady && next;
    });
    again.speak();
    // The engine gets what was said before, and says a bridging sentence.
    const { call: continued } = await stack.scripted(callId);
    expect(continued.resume).toBeDefined();
    await stack.say(callId, again);
    again.closeTab();

    const ended = await stack.ended(callId);
    expect(ended).toMatchObject({ status: 'COMPLETED', endReason: 'caller_hangup', resumptions: 1 });
    const leg = await stack.leg(callId);
    expect(ended.durationSeconds).toBe(Math.ceil((leg.endedAt!.getTime() - leg.startedAt!.getTime()) / 1_000));
    const balance = await createLedger(service.database).balance(ledgerAccountId(account._id, 'live'));
    expect(balance).toMatchObject({ availableMicros: 10_000_000 - ended.costMicros!, heldMicros: 0 });
    await eventually(async () => delivered > 0);
    own.stop.abort();
    await own.worker;
    expect(delivered).toBe(1);
  });
});
