import { startCarriedService, type CarriedService } from '../../support/carried-service';
import { eventually, type Customer } from '../../support/http/harness';

jest.setTimeout(120_000);

let carried: CarriedService;
let customer: Customer;
beforeAll(async () => {
  carried = await startCarriedService();
  customer = await carried.service.customer();
});
afterAll(() => carried.close());

const operatorLines = () => carried.log.filter(({ msg }) => /reason the operator/.test(String(msg)));

describe('a call that the carrier rejects for a reason that only the operator can remove', () => {
  it.each([
    ['35', '21219', /trial account/],
    ['36', '20003', /TWILIO_AUTH_TOKEN.*TWILIO_API_KEY_SID/],
  ])(
    'ends as internal_error, is not billed, leaves the number callable, and is logged once (script %s)',
    async (script, code, remedy) => {
      carried.log.length = 0;
      const callIds: string[] = [];
      for (let i = 0; i < 4; i++) callIds.push(await carried.place(customer, script));
      for (const callId of callIds) {
        expect(await carried.ended(callId)).toMatchObject({
          status: 'FAILED',
          endReason: 'internal_error',
          durationSeconds: 0,
          costMicros: 0,
        });
      }
      expect(operatorLines()).toEqual([
        expect.objectContaining({
          level: 50,
          callId: expect.stringMatching(/^call_/),
          carrierError: code,
          remedy: expect.stringMatching(remedy),
        }),
      ]);
      expect(JSON.stringify(carried.log)).not.toContain('2025550');
      // Rejected calls are not unanswered attempts. A number has five of those in an hour.
      await eventually(async () => {
        const counts = JSON.stringify(await carried.database.unansweredAttempts.find().lean());
        return callIds.every((callId) => !counts.includes(callId));
      });

      const { json } = await carried.service.request(`/calls/${callIds[0]}`, { key: customer.liveKey });
      expect(json['timeline']).toContainEqual(
        expect.objectContaining({
          source: 'carrier',
          event: 'rejected',
          details: expect.objectContaining({ error_code: code, reason: expect.any(String), fault: 'operator' }),
        }),
      );
    },
  );
});

it('a call above the carrier’s limit of concurrent calls is dialed again until there is room', async () => {
  carried.log.length = 0;
  const callId = await carried.place(customer, '34');
  const calls = carried.database.carrierBindings;
  const binding = await eventually(() => calls.findById(callId).lean().exec());
  expect(binding).toMatchObject({ carrierSid: expect.stringMatching(/^CA/) });
  expect(operatorLines()).toEqual([
    expect.objectContaining({ level: 40, carrierError: '10004', remedy: expect.stringMatching(/concurrent calls/) }),
  ]);
  const events = await carried.timeline(callId);
  expect(events.filter(({ status }) => status === 'throttled')).toMatchObject([{ errorCode: '10004' }]);
});

describe('a test call that the simulated carrier rejects', () => {
  it.each([
    ['34', 'throttled', '10004', 'The account at the carrier has as many calls as it may have.'],
    ['35', 'rejected', '21219', 'A trial account at the carrier can call only verified numbers.'],
    ['36', 'rejected', '20003', 'The carrier did not accept the credentials of the service.'],
  ])(
    'has the reason in its timeline, and does not alarm the operator (script %s)',
    async (script, name, code, reason) => {
      carried.log.length = 0;
      const { json } = await carried.service.place(customer.testKey, {
        to_phone_number: `+120255501${script}`,
        agent_id: customer.agent._id,
      });
      const event = await eventually(async () => {
        const response = await carried.service.request(`/calls/${String(json['call_id'])}`, { key: customer.testKey });
        const timeline = response.json['timeline'] as { event: string; details?: Record<string, unknown> }[];
        return timeline.find((each) => each.event === name);
      });
      expect(event.details).toEqual({ received_at: expect.any(String), error_code: code, reason });
      // Calls of earlier tests may still write lines.
      expect(carried.log.filter(({ callId }) => callId === json['call_id'])).toEqual([]);
      expect(operatorLines()).toEqual([]);
    },
  );
});
