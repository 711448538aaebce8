import { createCallResults } from '../../../src/calls/wiring.js';
import { randomBytes } from 'node:crypto';
import { createCallRequests } from '../../../src/calls/call-requests.js';
import { createCarrierBindings } from '../../../src/telephony/carrier-bindings.js';
import { encodeCrockford } from '../../../src/kernel/ids.js';
import type { Direction } from '../../../src/kernel/call-state.js';
import { expectError, startService, type Service } from '../../support/http/harness.js';
import { newSid, sidOf, SIMULATED } from '../../support/sids.js';
import { callRequest } from '../../support/store/call-request.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());

const OURS = '+12025550199';
const THEIRS = '+12025550100';
const HANG_UP = '<?xml version="1.0" encoding="UTF-8"?><Response><Hangup/></Response>';

/** Creates a call whose conversation lasted `talkedMs`. */
async function call(options: { direction?: Direction; transferTo?: string; talkedMs?: number } = {}) {
  const { direction = 'outbound', transferTo, talkedMs = 60_000 } = options;
  const callId = `call_${encodeCrockford(randomBytes(16))}`;
  const sid = newSid('CA');
  await createCallRequests(service.database).insert(
    callRequest({
      _id: callId,
      direction,
      fromPhoneNumber: direction === 'outbound' ? OURS : THEIRS,
      toPhoneNumber: direction === 'outbound' ? THEIRS : OURS,
    }),
  );
  await createCarrierBindings(service.database).bind(callId, sid, SIMULATED);
  await createCallResults(service.database).finish({
    callId,
    streamId: sidOf('MZ', 1),
    carrierSid: sid,
    engine: 'test',
    startedAt: new Date(Date.now() - talkedMs),
    endedAt: new Date(),
    endReason: transferTo === undefined ? 'agent_hangup' : 'transferred',
    agentAudioPlayed: true,
    turns: [],
    summary: 'They spoke.',
    outputParameters: '{}',
    hasRecording: false,
    ...(transferTo === undefined ? {} : { transferTo }),
  });
  return { callId, sid };
}

const afterStream = (callId: string, sid: string, fields: Record<string, string> = {}) =>
  service.carrierPost(`/carrier/calls/${callId}/after-stream`, { CallSid: sid, ...fields });

describe('the response after the stream of a transferred call', () => {
  it.each(['outbound', 'inbound'] as const)('dials the number with our caller id (%s)', async (direction) => {
    const { callId, sid } = await call({ direction, transferTo: '+12025550143' });
    const { status, text } = await afterStream(callId, sid);
    expect(status).toBe(200);
    const [, action, callerId, timeLimit, statusCallback, number] =
      /^<\?xml version="1.0" encoding="UTF-8"\?><Response><Dial action="([^"]+)" method="POST" callerId="([^"]+)" timeLimit="(\d+)"><Number statusCallback="([^"]+)" statusCallbackEvent="answered" statusCallbackMethod="POST">([^<]+)<\/Number><\/Dial><\/Response>$/.exec(
        text,
      ) ?? [];
    expect(action).toBe(`${service.config.publicBaseUrl}/carrier/calls/${callId}/after-stream`);
    expect(statusCallback).toBe(
      `${service.config.publicBaseUrl}/carrier/calls/${callId}/transfer-status#rc=3&amp;rp=5xx,ct,rt`,
    );
    expect([callerId, number]).toEqual([OURS, '+12025550143']);
    // Of the maximum duration of 600 s, at most 540 s are left: the conversation took one minute, and the test takes
    // some time too.
    expect(Number(timeLimit)).toBeLessThanOrEqual(540);
    expect(Number(timeLimit)).toBeGreaterThan(480);
  });

  it('never dials at the fallback URL, because the number may have been dialed already', async () => {
    const { callId, sid } = await call({ transferTo: '+12025550143' });
    const fallback = (fields: Record<string, string> = {}) =>
      service.carrierPost(`/carrier/calls/${callId}/fallback`, {
        CallSid: sid,
        ErrorCode: '11200',
        ErrorUrl: `${service.config.publicBaseUrl}/carrier/calls/${callId}/after-stream`,
        ...fields,
      });
    expect((await fallback()).text).toMatch(/<Say>We are sorry, this call cannot be connected right now/);
    expect((await fallback({ DialCallStatus: 'completed' })).text).toBe(HANG_UP);
  });

  it('leaves at least one second for the transferred call', async () => {
    const { callId, sid } = await call({ transferTo: '+12025550143', talkedMs: 3_600_000 });
    expect((await afterStream(callId, sid)).text).toContain('timeLimit="1"');
  });

  it('hangs up after the transferred conversation, and apologises first if the number was not reached', async () => {
    const { callId, sid } = await call({ transferTo: '+12025550143' });
    for (const status of ['completed', 'answered']) {
      expect((await afterStream(callId, sid, { DialCallStatus: status })).text).toBe(HANG_UP);
    }
    for (const status of ['busy', 'no-answer', 'failed', 'canceled']) {
      const { text } = await afterStream(callId, sid, { DialCallStatus: status });
      expect(text).toMatch(/<Say>We are sorry, the other party did not answer. Goodbye.<\/Say><Hangup\/>/);
      expect(text).not.toContain('<Dial');
    }
  });

  it('dials nothing without a transfer, for another carrier call, or without a signature', async () => {
    const plain = await call();
    expect((await afterStream(plain.callId, plain.sid)).text).toBe(HANG_UP);
    const { callId } = await call({ transferTo: '+12025550143' });
    expect((await afterStream(callId, newSid('CA'))).text).toBe(HANG_UP);
    const unsigned = { method: 'POST', body: new URLSearchParams({ CallSid: newSid('CA') }) };
    expectError(await service.request(`/carrier/calls/${callId}/after-stream`, unsigned), 403, 'FORBIDDEN');
  });
});

describe('POST /carrier/calls/{call_id}/amd', () => {
  const bindings = () => createCarrierBindings(service.database);
  const detected = (callId: string, sid: string, answeredBy: string, mode: 'live' | 'test' = 'live') =>
    service.carrierPost(`/carrier/calls/${callId}/amd`, { CallSid: sid, AnsweredBy: answeredBy }, mode);
  const answeredBy = async (callId: string) => (await bindings().answeredBy([callId])).get(callId);

  it.each([
    ['human', 'human'],
    ['machine_start', 'voicemail'],
    ['machine_end_beep', 'voicemail'],
    ['machine_end_silence', 'voicemail'],
    ['machine_end_other', 'voicemail'],
    ['fax', 'voicemail'],
    ['unknown', 'unknown'],
  ])('stores %s as %s for the media process of the call', async (answeredByField, stored) => {
    const { callId, sid } = await call();
    expect((await detected(callId, sid, answeredByField)).status).toBe(200);
    expect(await answeredBy(callId)).toBe(stored);
  });

  it('changes nothing without AnsweredBy, for another carrier call, with the other mode, or for an unknown call', async () => {
    const { callId, sid } = await call();
    expect((await detected(callId, sid, '')).status).toBe(200);
    expect((await detected(callId, newSid('CA'), 'human')).status).toBe(200);
    expect((await detected(callId, sid, 'human', 'test')).status).toBe(200);
    expect((await detected('call_00000000000000000000000000', sid, 'human')).status).toBe(200);
    expect(await answeredBy(callId)).toBeUndefined();
  });

  it('needs the carrier’s signature', async () => {
    const { callId, sid } = await call();
    const body = new URLSearchParams({ CallSid: sid, AnsweredBy: 'machine_start' });
    expectError(await service.request(`/carrier/calls/${callId}/amd`, { method: 'POST', body }), 403, 'FORBIDDEN');
    expect(await answeredBy(callId)).toBeUndefined();
  });
});
