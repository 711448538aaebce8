import type { CallInstruction, CarrierRequest } from '../../../src/telephony/callbacks.js';
import { describeCodec, itChecksCallIds } from './api-cases';
import { arrivalTests, itConductsCall, limitTests, streamEndTests, transferTests } from './call-cases';
import { callsOf, newCallId } from './calls';
import { describeDials, failingCallTests } from './dial-cases';
import type { CallReport, CarrierEntry, CarrierServer, Ports } from './double';
import { itTogether, type Given, type UnderTest } from './given';
import { startStack, type ContractStack } from './stack';

/**
 * Tests that every carrier must pass, with a real database, Temporal server, API, worker and media server. Carriers of
 * one server share one service.
 * @param describeOthers declares tests of carriers that have no server
 */
export function describeCarriers(
  start: (ports: Ports) => Promise<CarrierServer>,
  entries: readonly CarrierEntry[],
  describeOthers: (stackOf: () => ContractStack) => void = () => undefined,
): void {
  describe(`carriers: ${entries.map(({ name }) => name).join(', ')}`, () => {
    let stack: ContractStack;
    beforeAll(async () => {
      stack = await startStack(start);
    }, 90_000);
    afterAll(() => stack.close());
    entries.forEach((entry, number) => describeCarrier(entry, () => stack, `+120255501${80 + number}`));
    describeOthers(() => stack);
  });
}

/** @param ownNumber a number that no other carrier of the same service uses */
function describeCarrier(entry: CarrierEntry, stackOf: () => ContractStack, ownNumber: string): void {
  describe(`the carrier ${entry.name}`, () => {
    let underTest: UnderTest;
    const of: Given = { entry, given: () => underTest };
    beforeAll(async () => {
      const stack = stackOf();
      const { carriers, server, service } = stack;
      const customer = await service.customer();
      const { account, agent } = customer;
      await service.phoneNumbers.add({ number: ownNumber, accountId: account._id, agentId: agent._id });
      const key = entry.mode === 'live' ? customer.liveKey : customer.testKey;
      const double = server.doubles[entry.mode]!;
      underTest = { stack, carrier: carriers[entry.mode], double, customer, key, ownNumber };
    }, 90_000);

    describe('places and ends calls', () => {
      describeDials(of);
      itChecksCallIds(of.given);
    });
    describe('authenticates its requests', () => describeSignatures(of));
    describe('receives instructions', () => describeInstructions(of));
    describeCodec(() => {
      const { carrier, double } = of.given();
      const start = { carrierSid: double.newCallId(), streamId: double.newStreamId() };
      return { double, createCodec: () => carrier.createCodec(), start };
    });
    describe('conducts calls', () => {
      // The first call takes longer, so that the others do not wait for it at once.
      itConductsCall(of);
      describe('at the same time', () => {
        itTogether({
          ...limitTests(of),
          ...streamEndTests(of),
          ...transferTests(of),
          ...arrivalTests(of),
        });
      });
    });
    describe('places calls that fail', () => itTogether(failingCallTests(of)));
  });
}

function describeSignatures(of: Given): void {
  const calls = callsOf(of);
  const report = (): CallReport => ({ kind: 'answered', carrierSid: of.given().double.newCallId() });
  const asRequest = (path: string, headers: Record<string, string>, body: string): CarrierRequest => ({
    url: `${of.given().stack.service.config.publicBaseUrl}${path}`,
    headers: Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value])),
    body: Buffer.from(body),
  });

  it('with a signature over URL and body', () => {
    const { carrier, double } = of.given();
    const { path, headers, body } = double.request(newCallId(), report());
    const request = asRequest(path, headers, body);
    expect(carrier.mayBeSigned(request.headers)).toBe(true);
    expect(carrier.isSigned(request)).toBe(true);
    expect(carrier.isSigned(asRequest(`${path}x`, headers, body))).toBe(false);
    expect(carrier.isSigned(asRequest(path, headers, body.replace(/.$/s, ' ')))).toBe(false);
    expect(carrier.mayBeSigned({})).toBe(false);
    expect(carrier.isSigned(asRequest(path, {}, body))).toBe(false);
  });

  it('to the API, which rejects an unsigned callback', async () => {
    const request = of.given().double.request(newCallId(), report());
    expect((await calls.send(request)).status).toBe(200);
    const unsigned = { 'content-type': request.headers['content-type'] ?? '' };
    expect((await calls.send({ ...request, headers: unsigned })).status).toBe(403);
  });

  it('when it opens the media stream of a call, but not for another call', () => {
    const { carrier, double } = of.given();
    const [one, other] = [newCallId(), newCallId()];
    const upgrade = double.upgradeOf(carrier.render({ kind: 'stream', callId: one }));
    expect([carrier.mayAdmitStream(upgrade), carrier.admitsStream(upgrade)]).toEqual([true, true]);
    expect(carrier.admitsStream({ ...upgrade, url: upgrade.url.replace(one, other) })).toBe(false);
    expect(carrier.admitsStream({ ...upgrade, rest: `${upgrade.rest}x` })).toBe(false);
    const unsigned = { url: upgrade.url, rest: '', headers: {} };
    expect([carrier.mayAdmitStream(unsigned), carrier.admitsStream(unsigned)]).toEqual([false, false]);
  });
}

function describeInstructions(of: Given): void {
  it.each<CallInstruction>([
    { kind: 'stream', callId: 'call_1' },
    { kind: 'stream', callId: 'call_1', streamNumber: 2 },
    { kind: 'transfer', callId: 'call_1', to: '+12025550143', callerId: '+12025550199', timeLimitSeconds: 540 },
    { kind: 'apology', text: 'We are sorry & gone.' },
    { kind: 'hang_up' },
    { kind: 'reject' },
  ])('of the kind $kind', (instruction) => {
    const { carrier, double } = of.given();
    const markup = carrier.render(instruction);
    expect(markup.contentType).toMatch(/; charset=utf-8$/);
    expect(double.read(markup)).toEqual(instruction);
  });
}
