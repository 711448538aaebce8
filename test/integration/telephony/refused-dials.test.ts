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

describe('a call that the carrier refuses for a reason of the operator', () => {
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
      // Four refused calls are not four unanswered attempts, of which a number has five in an hour.
      await eventually(async () => {
        const counts = JSON.stringify(await carried.database.unansweredAttempts.find().lean());
        return callIds.every((callId) => !counts.includes(callId));
      });

      const { json } = await carried.service.request(`/calls/${callIds[0]}`, { key: customer.liveKey });
      expect(json['timeline']).toContainEqual(
        expect.objectContaining({
          source: 'carrier',
          event: 'refused',
          details: expect.objectContaining({ error_code: code, fault: 'operator' }),
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
