import { observe } from '../../src/platform/telemetry/measurements.js';
import type { Carrier, DialOutcome, DialRequest } from '../../src/telephony/port.js';
import { withReports } from '../../src/telephony/reported-requests.js';
import { toRejection } from '../../src/telephony/twilio/rejections.js';

const dialed = async (outcome: DialOutcome) => {
  const outcomes: string[] = [];
  const forget = observe('carrierRequest', (request) => outcomes.push(request.outcome));
  // Only `dial` is reported here.
  const carrier = { kind: 'twilio', dial: async () => outcome } as unknown as Carrier;
  await withReports(carrier, 'live').dial({} as DialRequest);
  forget();
  return outcomes;
};

it.each([
  [undefined, 'accepted'],
  [999, 'accepted'],
  [1_000, 'queued'],
])('a dial that the carrier queues for %s ms counts as %s', async (queuedMs, outcome) => {
  const queued = queuedMs === undefined ? {} : { queuedMs };
  expect(await dialed({ outcome: 'accepted', carrierSid: 'CA1', ...queued })).toEqual([outcome]);
});

describe('a dial that the carrier rejects', () => {
  it.each([21211, 21214, 21217, 21216])('counts as the fault of the number: code %s', async (code) => {
    expect(await dialed(toRejection(400, code))).toEqual(['number_refused']);
  });

  it.each([
    ['a country that the account does not allow', 400, 21215],
    ['a suspended account', 400, 10001],
    ['a caller ID that is not verified', 400, 21210],
    ['wrong credentials', 401, undefined],
    ['a code that we do not know', 400, 99999],
  ])('counts as a rejection of ours: %s', async (_cause, status, code) => {
    expect(await dialed(toRejection(status, code))).toEqual(['refused']);
  });
});
