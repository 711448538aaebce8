import { createWebCarrier } from '../../../src/telephony/web/carrier.js';
import { createWebLegs } from '../../../src/telephony/web/legs.js';
import type { AgentDocument } from '../../../src/agents/model.js';
import type { CarrierApi } from '../../../src/telephony/port.js';
import { openBrowserLine } from '../../integration/web/browser-line';
import { eventually, type Customer } from '../http/harness';
import { itTogether, testsOfPart, type Tests } from './given';
import type { CarrierEntry } from './double';
import type { ContractStack } from './stack';

const ENTRY: CarrierEntry = {
  name: 'web',
  mode: 'live',
  without: {
    dials: 'A browser cannot be called, because it opens the call itself.',
    'signed requests': 'It sends none: media servers report what happens to its sockets.',
    instructions: 'It gets none: a media server keeps or closes its socket.',
    transfers: 'The call has no leg that another number could be connected to.',
    'faults of the operator': 'There is no account at this carrier.',
  },
};

/**
 * Tests the parts of the contract that apply to calls in the browser, at the media server of a running stack. The tests
 * of its call ids and its codec need no service: they are in `web-carrier.test.ts`.
 */
export function describeWebCarrier(stackOf: () => ContractStack): void {
  describe(`the carrier ${ENTRY.name}`, () => {
    let customer: Customer;
    let carrier: CarrierApi;
    beforeAll(async () => {
      const { service } = stackOf();
      customer = await service.customer();
      carrier = createWebCarrier({ legs: createWebLegs(service.database), mode: ENTRY.mode });
    });

    /** Opens a call of a new agent with these fields. Resolves when its engine can speak. */
    async function open(fields: Partial<AgentDocument> = {}) {
      const stack = stackOf();
      const agentId = await stack.newAgent(customer.account._id, fields);
      const { json } = await stack.inTurn(() =>
        stack.service.request('/web_calls', {
          method: 'POST',
          key: customer.liveKey,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ agent_id: agentId }),
        }),
      );
      const { call_id: callId, url, token } = json as Record<'call_id' | 'url' | 'token', string>;
      const line = await openBrowserLine({ url, token });
      await line.ready();
      line.speak();
      return { ...(await stack.conversationOf(callId)), line, url };
    }

    itTogether({
      ...callTests({ stackOf, open, carrierOf: () => carrier }),
      ...testsOfPart({ entry: ENTRY }, 'dials', {}),
      ...testsOfPart({ entry: ENTRY }, 'signed requests', {}),
      ...testsOfPart({ entry: ENTRY }, 'instructions', {}),
      ...testsOfPart({ entry: ENTRY }, 'transfers', {}),
      ...testsOfPart({ entry: ENTRY }, 'faults of the operator', {}),
    });
  });
}

type Open = (fields?: Partial<AgentDocument>) => Promise<
  Awaited<ReturnType<ContractStack['conversationOf']>> & {
    line: Awaited<ReturnType<typeof openBrowserLine>>;
    url: string;
  }
>;

function callTests(p: { stackOf: () => ContractStack; open: Open; carrierOf: () => CarrierApi }): Tests {
  const { stackOf, open, carrierOf } = p;
  return {
    async 'receives a call and conducts it with audio in both directions'() {
      const call = await open();
      const { carrierSid } = call.binding;
      expect(call.binding).toMatchObject({ carrier: carrierOf().kind });
      expect(carrierOf().isCallId(carrierSid)).toBe(true);
      expect(await carrierOf().fetch(carrierSid)).toMatchObject({ direction: 'inbound', status: 'in-progress' });
      call.sink.sendAudio('item', Buffer.alloc(1_600, 0x7f));
      call.sink.endItem('item');
      await call.line.next('media');
      await eventually(async () => call.scripted.played.some(({ complete }) => complete));
      call.sink.end('agent_hangup');
      expect(await stackOf().ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup' });
      await eventually(async () => (await stackOf().timeline(call.callId)).length > 1);
    },

    async 'ends a call when the other party hangs up'() {
      const call = await open();
      call.line.closeTab();
      const ended = await stackOf().ended(call.callId);
      expect(ended).toMatchObject({ direction: 'inbound', status: 'COMPLETED', endReason: 'caller_hangup' });
      const record = (await carrierOf().fetch(call.binding.carrierSid))!;
      expect(record).toMatchObject({ status: 'completed', durationSeconds: ended.durationSeconds });
    },

    async 'ends a call at its maximum duration by our timer'() {
      const call = await open({ maxDurationSeconds: 4 });
      expect(await stackOf().ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'max_duration' });
    },

    async 'limits a call to the paid time'() {
      const call = await open({ maxDurationSeconds: 600 });
      const legs = createWebLegs(stackOf().service.database);
      // Money was held for two windows, of 3 s and of 100 s.
      await eventually(async () => (await legs.find(call.binding.carrierSid))?.limitSeconds === 103);
      call.sink.end('agent_hangup');
      await stackOf().ended(call.callId);
    },

    async 'continues a call with another stream if the first one is lost'() {
      const call = await open();
      const token = call.line.reconnectToken();
      call.line.break();
      const line = await openBrowserLine({ url: call.url, token });
      await line.ready();
      const second = await eventually(async () => {
        const newest = stackOf().engine.calls.get(call.callId);
        return newest !== call.scripted && newest;
      });
      second.sink.end('agent_hangup');
      expect(await line.closed()).toEqual({ reason: 'call_ended', code: 1000 });
      expect(await stackOf().ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup' });
    },
  };
}
