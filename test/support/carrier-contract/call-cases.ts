import { createLedger } from '../../../src/billing/ledger/ledger.js';
import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { DEFAULT_MICROS_PER_SECOND } from '../../../src/kernel/money.js';
import { eventually } from '../http/harness';
import { callsOf, newCallId } from './calls';
import type { CallReport } from './double';
import { testsOfPart, type Given, type Tests } from './given';

/** Tests one call from its request to its settlement. */
export function itConductsCall(of: Given): void {
  const calls = callsOf(of);

  it('conducts a call with status callbacks in the timeline and audio in both directions', async () => {
    const { stack, carrier, double } = of.given();
    const call = await calls.placeToAgent(double.numbers.person);
    const { carrierSid } = call.binding;
    expect(call.binding).toMatchObject({ carrier: carrier.kind, carrierSid: expect.any(String) });
    expect(carrier.isCallId(carrierSid)).toBe(true);
    const detection: CallReport = { kind: 'detected', carrierSid, who: 'human' };
    expect((await calls.send(double.request(call.callId, detection))).status).toBe(200);
    expect(await stack.bindingOf(call.callId)).toMatchObject({ answeredBy: 'human' });
    call.sink.sendAudio('item', Buffer.alloc(1_600, 0x7f));
    call.sink.endItem('item');
    await eventually(async () => call.scripted.played.some(({ complete }) => complete));
    call.sink.end('agent_hangup');
    expect(await stack.ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup' });
    expect((await stack.timeline(call.callId)).length).toBeGreaterThan(1);
    const stream = { kind: 'stream', callId: call.callId };
    expect(await double.instructionsFor(carrierSid)).toEqual([stream, { kind: 'hang_up' }]);
  }, 60_000);
}

/** Tests of limits of a call's duration. */
export function limitTests(of: Given): Tests {
  const calls = callsOf(of);

  return {
    async 'ends a call at its maximum duration by our timer, even if the carrier cannot'() {
      const { stack, double } = of.given();
      const call = await calls.placeToAgent(double.numbers.person, { maxDurationSeconds: 4 });
      expect(await stack.ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'max_duration' });
      // No carrier supports a limit below one minute. So the carrier did not end this call.
      expect(await double.limitOf(call.binding.carrierSid)).toBeGreaterThanOrEqual(60);
    },

    ...testsOfPart(of, 'a paid time limit', {
      async 'ends a call by our timer when its money is used up, even if the carrier cannot'() {
        const { stack, double, carrier } = of.given();
        const { account, liveKey, testKey } = await stack.service.customer();
        const key = of.entry.mode === 'live' ? liveKey : testKey;
        const callId = await calls.place(double.numbers.person, {}, { accountId: account._id, key });
        // The first window of 3 s is held. Another call takes the rest before this one is answered.
        const ledger = createLedger(stack.service.database);
        const ledgerAccount = ledgerAccountId(account._id, of.entry.mode);
        const { availableMicros } = await ledger.balance(ledgerAccount);
        const seconds = availableMicros / DEFAULT_MICROS_PER_SECOND;
        const rest = { maxDurationSeconds: seconds, windows: [seconds], microsPerSecond: DEFAULT_MICROS_PER_SECOND };
        const other = { ledgerAccountId: ledgerAccount, callId: newCallId(), window: 0 };
        expect(await ledger.hold({ ...other, ...rest })).toMatchObject({ grantedSeconds: seconds });
        const call = await stack.conversationOf(callId);
        expect(await stack.ended(callId)).toMatchObject({ status: 'COMPLETED', endReason: 'balance_exhausted' });
        // No carrier has a limit below one minute, so none ended this call.
        if (carrier.capabilities.canChangeTimeLimit) return;
        expect(await double.limitOf(call.binding.carrierSid)).toBeGreaterThanOrEqual(60);
      },

      async 'limits a call to the paid time, or to its maximum duration if the limit cannot be changed'() {
        const { stack, carrier, double } = of.given();
        const call = await calls.placeToAgent(double.numbers.person, { maxDurationSeconds: 600 });
        // Money was held for two windows, of 3 s and of 100 s.
        const paid = 103;
        const { canChangeTimeLimit } = carrier.capabilities;
        await eventually(
          async () => (await double.limitOf(call.binding.carrierSid)) === (canChangeTimeLimit ? paid : 600),
        );
        await new Promise((resolve) => setTimeout(resolve, 3_500));
        call.sink.end('agent_hangup');
        expect(await stack.ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup' });
      },
    }),
  };
}

/** Tests of the ends of media streams. */
export function streamEndTests(of: Given): Tests {
  const calls = callsOf(of);

  return {
    async 'ends a call when the other party hangs up'() {
      const { stack, carrier, double } = of.given();
      const call = await calls.placeToAgent(double.numbers.person);
      const { carrierSid } = call.binding;
      await double.hangUp(carrierSid);
      expect(await stack.ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup' });
      expect(call.scripted.stopped).toBe('carrier_stop');
      expect(await carrier.fetch(carrierSid)).toMatchObject({
        status: 'completed',
        durationSeconds: expect.any(Number),
      });
    },

    async 'continues a call with another stream if the first one is lost'() {
      const { stack, double } = of.given();
      const call = await calls.placeToAgent(double.numbers.losesStream);
      const { carrierSid } = call.binding;
      const stream = { kind: 'stream', callId: call.callId };
      const again = { ...stream, streamNumber: 1 };
      const instructions = () => double.instructionsFor(carrierSid);
      await eventually(async () => (await instructions()).length > 1);
      expect(await instructions()).toEqual([stream, again]);
      const second = await eventually(async () => {
        const newest = stack.engine.calls.get(call.callId);
        return newest !== call.scripted && newest;
      });
      // A call whose stream is lost before the agent is heard, and that ends soon without a word of the agent, is free.
      second.sink.sendAudio('item', Buffer.alloc(1_600, 0x7f));
      second.sink.endItem('item');
      await eventually(async () => second.played.some(({ complete }) => complete));
      second.sink.end('agent_hangup');
      expect(await stack.ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup' });
      expect(await instructions()).toEqual([stream, again, { kind: 'hang_up' }]);
    },

    async 'makes the carrier hang up after a stream of an unknown call'() {
      const { carrier, double } = of.given();
      const ended: CallReport = { kind: 'stream_ended', carrierSid: double.newCallId() };
      const { status, headers, text } = await calls.send(double.request(newCallId(), ended));
      expect(status).toBe(200);
      const contentType = headers.get('content-type') ?? '';
      expect(contentType).toBe(carrier.render({ kind: 'hang_up' }).contentType);
      expect(double.read({ contentType, body: text })).toEqual({ kind: 'hang_up' });
    },
  };
}

/** Tests of transfers of calls to another number. */
export function transferTests(of: Given): Tests {
  const calls = callsOf(of);

  /** Places a call that its agent transfers. Resolves when the call has ended. */
  async function transfer(to: string) {
    const { stack, double } = of.given();
    const call = await calls.placeToAgent(double.numbers.person, { transferNumbers: [to], maxDurationSeconds: 600 });
    expect(await call.sink.runTool({ name: 'transfer_call', arguments: { number: to } })).toMatchObject({ ok: true });
    const ended = await stack.ended(call.callId);
    const [stream, dial, ...rest] = await double.instructionsFor(call.binding.carrierSid);
    expect(stream).toEqual({ kind: 'stream', callId: call.callId });
    expect(dial).toEqual({
      kind: 'transfer',
      callId: call.callId,
      to,
      callerId: (await stack.requestOf(call.callId))!.fromPhoneNumber,
      timeLimitSeconds: expect.any(Number),
    });
    return { ended, dial, rest };
  }

  return {
    async 'transfers a call with our caller id for the rest of its time, and hangs up when the other party does'() {
      const { dial, rest, ended } = await transfer(of.given().double.numbers.hangsUp);
      const { timeLimitSeconds = 0 } = dial as { timeLimitSeconds?: number };
      expect(timeLimitSeconds).toBeLessThanOrEqual(600);
      expect(timeLimitSeconds).toBeGreaterThan(540);
      expect(rest).toEqual([{ kind: 'hang_up' }]);
      expect(ended).toMatchObject({ status: 'COMPLETED' });
    },

    async 'apologizes if a transfer is not answered'() {
      const { rest, ended } = await transfer(of.given().double.numbers.busy);
      expect(rest).toEqual([{ kind: 'apology', text: expect.stringContaining('did not answer') }]);
      expect(ended).toMatchObject({ status: 'COMPLETED' });
    },
  };
}

/** Tests of calls that reach the carrier for a number of a customer. */
export function arrivalTests(of: Given): Tests {
  const calls = callsOf(of);

  return {
    async 'connects a call to the agent of the number, and learns its end by the call’s id'() {
      const { stack, carrier, double } = of.given();
      const call = await calls.receive();
      const { carrierSid } = call.binding;
      expect(call.binding).toMatchObject({ carrier: carrier.kind });
      expect(await carrier.fetch(carrierSid)).toMatchObject({ direction: 'inbound', status: 'in-progress' });
      await double.hangUp(carrierSid);
      const ended = await stack.ended(call.callId);
      expect(ended).toMatchObject({ direction: 'inbound', status: 'COMPLETED', endReason: 'caller_hangup' });
      await eventually(async () => (await stack.timeline(call.callId)).length > 0);
      const record = (await carrier.fetch(carrierSid))!;
      expect(ended.durationSeconds).toBe(record.durationSeconds);
      expect(await double.instructionsFor(carrierSid)).toEqual([{ kind: 'stream', callId: call.callId }]);
    },

    async 'ends a call when the agent hangs up'() {
      const { stack, double } = of.given();
      const call = await calls.receive();
      call.sink.end('agent_hangup');
      expect(await stack.ended(call.callId)).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup' });
      const stream = { kind: 'stream', callId: call.callId };
      expect(await double.instructionsFor(call.binding.carrierSid)).toEqual([stream, { kind: 'hang_up' }]);
    },

    async 'rejects a call that no agent takes, without answering it'() {
      const { stack, carrier, double } = of.given();
      const unknown = { from: '+12025550143', to: '+12025550199', forwardedFrom: '+12025550170' };
      const carrierSid = await double.receive(unknown);
      await eventually(async () => (await double.instructionsFor(carrierSid)).length > 0);
      expect(await double.instructionsFor(carrierSid)).toEqual([{ kind: 'reject' }]);
      const record = await eventually(async () => {
        const found = await carrier.fetch(carrierSid);
        return found !== undefined && !['ringing', 'in-progress'].includes(found.status) && found;
      });
      expect(record.durationSeconds ?? 0).toBe(0);
      expect(await stack.service.database.carrierBindings.countDocuments({ carrierSid })).toBe(0);
    },

    async 'answers a repeated request in the same way, starts no second call, and rejects an unsigned one'() {
      const { stack, carrier, double, ownNumber } = of.given();
      const carrierSid = double.newCallId();
      const request = double.announce(carrierSid, {
        from: '+12025550143',
        to: '+12025550199',
        forwardedFrom: ownNumber,
      });
      const first = await stack.inTurn(() => calls.send(request));
      expect(first.status).toBe(200);
      expect((await calls.send(request)).text).toBe(first.text);
      const bindings = await stack.service.database.carrierBindings.find({ carrierSid }).lean();
      const contentType = first.headers.get('content-type') ?? '';
      expect(contentType).toBe(carrier.render({ kind: 'hang_up' }).contentType);
      expect(bindings.map(({ _id: callId }) => ({ kind: 'stream', callId }))).toEqual([
        double.read({ contentType, body: first.text }),
      ]);
      const unsigned = { 'content-type': request.headers['content-type'] ?? '' };
      expect([401, 403]).toContain((await calls.send({ ...request, headers: unsigned })).status);
    },
  };
}
