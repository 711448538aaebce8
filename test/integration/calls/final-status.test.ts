import { ulid } from 'ulid';
import { createCallProjection } from '../../../src/calls/projection.js';
import { createCallRequests } from '../../../src/calls/call-requests.js';
import { observe } from '../../../src/platform/telemetry/measurements.js';
import { legIdOf } from '../../../src/telephony/web/leg.js';
import { startService, type Service } from '../../support/http/harness.js';
import { newSid } from '../../support/sids.js';
import { callRequest } from '../../support/store/call-request.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ minDeadlineMs: 0, worker: false });
}, 60_000);
afterAll(() => service.close());

/** Stores a call that has ended as its callee hung up. @param sidOf returns the id of the call at its carrier */
async function endedCall(sidOf: (callId: string) => string | undefined = () => undefined) {
  const { account, agent } = await service.customer();
  const callId = `call_${ulid()}`;
  const request = callRequest({
    _id: callId,
    accountId: account._id,
    toPhoneNumber: '+12025550172',
    agentId: agent._id,
  });
  await createCallRequests(service.database).insert(request);
  const projection = createCallProjection(service.database);
  const carrierSid = sidOf(callId);
  await projection.begin(request, { callId, at: Date.now(), sequence: 1, status: 'RINGING' });
  const end = { status: 'COMPLETED', endReason: 'callee_hangup', endTime: Date.now() } as const;
  await projection.apply(
    { callId, at: Date.now(), sequence: 2, ...end, ...(carrierSid === undefined ? {} : { carrierSid }) },
    { durationSeconds: 7, costMicros: 17_500 },
  );
  return { callId, projection };
}

describe('a final status', () => {
  it('is not changed by a workflow that has forgotten the end of its call', async () => {
    const { callId, projection } = await endedCall();
    const again = { callId, at: Date.now(), endTime: Date.now() };
    await projection.apply({ ...again, sequence: 3, status: 'IN_PROGRESS' });
    await projection.apply({ ...again, sequence: 4, status: 'COMPLETED', endReason: 'balance_exhausted' });
    expect(await projection.find(callId)).toMatchObject({
      sequence: 2,
      status: 'COMPLETED',
      endReason: 'callee_hangup',
      durationSeconds: 7,
    });
  });

  it('still gets the summary and the transcript that come later', async () => {
    const { callId, projection } = await endedCall();
    await projection.apply({ callId, at: Date.now(), sequence: 3 }, { summary: 'They agreed.' });
    expect(await projection.find(callId)).toMatchObject({ status: 'COMPLETED', summary: 'They agreed.' });
  });

  it('is reported once, with the kind of its line', async () => {
    const lines: string[] = [];
    const forget = observe('callEnded', ({ line, endReason }) => void lines.push(`${line} ${endReason}`));
    const { callId, projection } = await endedCall();
    const again = { callId, at: Date.now(), sequence: 3, status: 'COMPLETED', endTime: Date.now() } as const;
    await projection.apply(again);
    await endedCall(() => newSid('CA'));
    await endedCall(legIdOf);
    forget();
    expect(lines).toEqual(['phone callee_hangup', 'phone callee_hangup', 'browser callee_hangup']);
  });
});
