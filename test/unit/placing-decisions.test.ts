import { CallServiceUnavailable } from '../../src/calls/gateway.js';
import { reportDecision } from '../../src/calls/placing/report-decision.js';
import { reservationError } from '../../src/calls/placing/start-call.js';
import { ServiceError } from '../../src/kernel/errors.js';
import { serviceUnavailable } from '../../src/platform/http/deadline.js';
import { observe } from '../../src/platform/telemetry/measurements.js';

const frozen = reservationError({ outcome: 'refused', code: 'ACCOUNT_FROZEN' })!;

describe('the decision about a request for a call', () => {
  const reported: object[] = [];
  const forget = observe('placingDecision', (decision) => void reported.push(decision));
  beforeEach(() => void (reported.length = 0));
  afterAll(forget);

  it.each([
    [false, 'accepted'],
    [true, 'repeated'],
  ])('is reported with its result (replayed: %s)', async (replayed, outcome) => {
    const place = () => Promise.resolve({ replayed });
    expect(await reportDecision('live', place, (placed) => placed.replayed)).toEqual({ replayed });
    expect(reported).toEqual([{ mode: 'live', outcome }]);
  });

  it.each([
    ['rejected', new ServiceError('INSUFFICIENT_BALANCE', 'Top up.')],
    ['rejected', new ServiceError('CONCURRENCY_LIMIT_EXCEEDED', 'Wait.')],
    ['frozen', frozen],
    ['failed', serviceUnavailable()],
    ['failed', new CallServiceUnavailable('Temporal did not respond')],
    ['failed', new Error('a bug')],
  ])('is reported as %s with its error: %s', async (outcome, error) => {
    await expect(reportDecision('test', () => Promise.reject(error))).rejects.toBe(error);
    expect(reported).toEqual([{ mode: 'test', outcome }]);
  });
});

it('a frozen account gets the response of an unavailable service', () => {
  expect(frozen).toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    message: 'The account is frozen and cannot start new calls. Contact the operator of this service.',
    details: {},
    faults: [],
  });
});
