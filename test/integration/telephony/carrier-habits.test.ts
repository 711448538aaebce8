import { startCarriedService, type CarriedService } from '../../support/carried-service';
import { eventually, type Customer } from '../../support/http/harness';

jest.setTimeout(120_000);

describe('a carrier that queues calls above its rate', () => {
  let carried: CarriedService;
  let customer: Customer;
  beforeAll(async () => {
    // The carrier dials a call every ten seconds, and the service does not know that.
    carried = await startCarriedService({ carrier: { CARRIER_CALLS_PER_SECOND: '0.1' } });
    customer = await carried.service.customer();
    const { _id } = customer.agent;
    await carried.database.agents.updateOne({ _id }, { $set: { ringTimeoutSeconds: 5 } });
  });
  afterAll(() => carried.close());

  it('still dials and connects the last of them, which the service does not give up as unanswered', async () => {
    const callIds: string[] = [];
    for (let i = 0; i < 3; i++) callIds.push(await carried.place(customer, '07'));
    const last = await eventually(async () => {
      for (const callId of callIds) {
        const binding = await carried.database.carrierBindings.findById(callId).lean();
        if (!binding?.carrierSid.startsWith('CA')) return undefined;
      }
      const calls = (await carried.carrierCalls()).filter(({ scenario }) => scenario === 'silent');
      return calls.length === 3 && calls.at(-1);
    });
    // It is dialed 20 s after the first one: later than the 5 s of ringing and the 10 s of patience of the service.
    const { sid } = last;
    const { _id: callId } = (await carried.database.carrierBindings.findOne({ carrierSid: String(sid) }).lean())!;
    await eventually(
      async () => (await carried.timeline(callId)).some(({ status }) => status === 'in-progress'),
      60_000,
    );
    expect((await carried.carrierCall(String(sid)))['answered_at']).not.toBeNull();
    expect(await carried.call(callId)).not.toMatchObject({ endReason: 'no_answer' });
  });
});

describe('a carrier that lists calls late and sends no callback for a call whose response was lost', () => {
  let carried: CarriedService;
  let customer: Customer;
  beforeAll(async () => {
    carried = await startCarriedService();
    customer = await carried.service.customer();
  });
  afterAll(() => carried.close());

  it('has its call found once it is listed', async () => {
    const callId = await carried.place(customer, '25');
    const binding = await eventually(() => carried.database.carrierBindings.findById(callId).lean().exec());
    // It was found in the list: it rings for 12 s, and requests its TwiML only after that.
    expect(await carried.carrierCall(binding.carrierSid)).toMatchObject({
      scenario: 'create-answer-lost-listed-late',
      status: 'ringing',
    });
  });

  it('has its call hung up at the answer, if it is listed too late', async () => {
    const callId = await carried.place(customer, '26');
    expect(await carried.ended(callId)).toMatchObject({
      status: 'FAILED',
      endReason: 'carrier_unreachable',
      costMicros: 0,
    });
    const call = await eventually(async () => {
      const calls = await carried.carrierCalls();
      return calls.find(
        ({ scenario, ended_at }) => scenario === 'create-answer-lost-listed-too-late' && ended_at !== null,
      );
    });
    const { twiml, streams } = await carried.carrierCall(String(call['sid']));
    expect(twiml).toEqual([expect.stringContaining('<Response><Hangup/></Response>')]);
    expect(streams).toEqual([]);
    expect((await carried.carrierCalls()).filter(({ to }) => to === '+12025550126')).toHaveLength(1);
  });
});
