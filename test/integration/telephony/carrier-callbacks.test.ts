import { createCarrierEvents } from '../../../src/telephony/carrier-events.js';
import { createCarrierBindings } from '../../../src/telephony/carrier-bindings.js';
import type { CallRequestDocument } from '../../../src/calls/call-request-model.js';
import type { ConversationResultDocument } from '../../../src/voice/results/model.js';
import { eventually, expectError, PUBLIC_BASE_URL, startService, STREAM_URL } from '../../support/http/harness.js';
import type { Customer, Service } from '../../support/http/harness.js';
import { newSid, sidOf } from '../../support/sids.js';
import { APOLOGY, startRingingCalls, type RingingCalls } from './support/ringing-calls';

let ringing: RingingCalls;
let service: Service;
let customer: Customer;

beforeAll(async () => {
  ringing = await startRingingCalls();
  ({ service, customer } = ringing);
});
afterAll(() => ringing.close());

const HANG_UP = '<?xml version="1.0" encoding="UTF-8"?><Response><Hangup/></Response>';
function status(callId: string, sid: string, fields: Record<string, string>, mode: 'live' | 'test' = 'live') {
  return service.carrierPost(`/carrier/calls/${callId}/status`, { CallSid: sid, ...fields }, mode);
}

const ended = (callId: string) =>
  eventually(async () => {
    const call = await ringing.callOf(callId);
    return call !== null && call.endTime !== undefined && call;
  });

describe('the signature', () => {
  const paths = ['status', 'twiml', 'transfer-status', 'after-stream', 'fallback'].map(
    (name) => `/carrier/calls/call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN/${name}`,
  );

  it.each([...paths, '/carrier/status'])('is required on %s: otherwise 403 FORBIDDEN', async (path) => {
    const { carrierAccountId } = service.config.carriers.live;
    const body = () =>
      new URLSearchParams({ AccountSid: carrierAccountId, CallSid: newSid('CA'), CallStatus: 'completed' });
    expectError(await service.request(path, { method: 'POST', body: body() }), 403, 'FORBIDDEN');
    const headers = { 'X-Twilio-Signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=' };
    expectError(await service.request(path, { method: 'POST', body: body(), headers }), 403, 'FORBIDDEN');
    // An API key cannot replace the carrier's signature.
    expectError(await service.request(path, { method: 'POST', body: body(), key: customer.liveKey }), 403, 'FORBIDDEN');
  });

  it('covers every field, including unknown ones and brackets, and the raw query', async () => {
    const path = '/carrier/status?attempt=a%20b&x=%27';
    const form = { CallSid: newSid('CA'), CallStatus: 'ringing', 'Geo[City]': 'São Paulo', Empty: '', __proto__x: '1' };
    expect((await service.carrierPost(path, form)).status).toBe(200);
  });
});

describe('TwiML of an answered outbound call', () => {
  const twiml = (callId: string, sid: string, mode: 'live' | 'test' = 'live') =>
    service.carrierPost(`/carrier/calls/${callId}/twiml`, { CallSid: sid, CallStatus: 'in-progress' }, mode);

  it('streams the audio and binds the CallSid, and hangs up any other carrier call', async () => {
    const { callId, sid } = await ringing.placeRingingCall();
    const answer = await twiml(callId, sid);
    expect(answer.headers.get('content-type')).toMatch(/^text\/xml/);
    expect(answer.text).toContain(`<Response><Connect><Stream url="${STREAM_URL}/${callId}"/></Connect><Redirect`);
    expect((await twiml(callId, sid)).text).toBe(answer.text);
    expect((await twiml(callId, newSid('CA'))).text).toBe(HANG_UP);
    expect(await service.database.carrierBindings.findById(callId).lean()).toMatchObject({ carrierSid: sid });
  });

  it('is the same at the fallback URL, if the carrier could not use it', async () => {
    const { callId, sid } = await ringing.placeRingingCall();
    const form = { CallSid: sid, ErrorCode: '11200', ErrorUrl: `${PUBLIC_BASE_URL}/carrier/calls/${callId}/twiml` };
    const path = `/carrier/calls/${callId}/fallback`;
    const answer = await service.carrierPost(path, form);
    expect(answer.text).toBe((await twiml(callId, sid)).text);
    expect((await service.carrierPost(path, form)).text).toBe(answer.text);
    expect((await service.carrierPost(path, { ...form, CallSid: newSid('CA') })).text).toBe(HANG_UP);
  });

  it('hangs up a call that is unknown, of the other mode, or closed', async () => {
    expect((await twiml('call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN', newSid('CA'))).text).toBe(HANG_UP);
    expect((await twiml('nonsense', newSid('CA'))).text).toBe(HANG_UP);
    const { callId, sid } = await ringing.placeRingingCall();
    expect((await twiml(callId, sid, 'test')).text).toBe(HANG_UP);
    // Marks the call as ended in the document that names its carrier call. The dial may not have stored that document yet.
    const closed = { carrierSid: `closed:${callId}`, closed: true, boundAt: new Date() };
    await service.database.carrierBindings.updateOne({ _id: callId }, { $set: closed }, { upsert: true });
    expect((await twiml(callId, sid)).text).toBe(HANG_UP);
  });

  it('apologises and hangs up while MongoDB is unavailable', async () => {
    const degraded = await startService({ minDeadlineMs: 0, worker: false });
    await degraded.database.close();
    const answer = await degraded.carrierPost('/carrier/calls/call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN/twiml', {
      CallSid: newSid('CA'),
    });
    expect(answer.status).toBe(200);
    expect(answer.text).toMatch(APOLOGY);
    const statusResponse = await degraded.carrierPost('/carrier/status', {
      CallSid: newSid('CA'),
      CallStatus: 'completed',
    });
    expectError(statusResponse, 503, 'SERVICE_UNAVAILABLE');
    await degraded.close({ databaseIsClosed: true });
  });
});

describe('status callbacks', () => {
  it('sets IN_PROGRESS on in-progress and ends the call with the carrier’s seconds on completed', async () => {
    const { callId, sid } = await ringing.placeRingingCall();
    await service.carrierPost(`/carrier/calls/${callId}/twiml`, { CallSid: sid, CallStatus: 'in-progress' });
    expect(
      (await status(callId, sid, { CallStatus: 'in-progress', SequenceNumber: '1', AnsweredBy: 'human' })).status,
    ).toBe(200);
    expect(await eventually(async () => (await ringing.callOf(callId))?.status === 'IN_PROGRESS')).toBe(true);
    const last = { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '7', Duration: '1' };
    expect((await status(callId, sid, last)).status).toBe(200);
    expect(await ended(callId)).toMatchObject({
      status: 'COMPLETED',
      answeredBy: 'human',
      durationSeconds: 7,
      costMicros: 17_500,
    });
    // Late and repeated callbacks get 200 and change nothing.
    expect((await status(callId, sid, { CallStatus: 'busy', SequenceNumber: '9' })).status).toBe(200);
    expect(await ringing.callOf(callId)).toMatchObject({ status: 'COMPLETED' });
    const late = await service.carrierPost(`/carrier/calls/${callId}/twiml`, {
      CallSid: sid,
      CallStatus: 'in-progress',
    });
    expect(late.text).toBe(HANG_UP);
  });

  it.each([
    ['busy', { SipResponseCode: '486' }, 'busy'],
    ['no-answer', { SipResponseCode: '487' }, 'no_answer'],
    ['failed', { SipResponseCode: '404' }, 'invalid_number'],
  ])('ends the call on %s as FAILED with cost 0', async (callStatus, fields, endReason) => {
    const { callId, sid } = await ringing.placeRingingCall();
    await status(callId, sid, { CallStatus: callStatus, ...fields });
    expect(await ended(callId)).toMatchObject({ status: 'FAILED', endReason, costMicros: 0 });
  });

  it('binds the CallSid on initiated, queued and ringing without changing the call', async () => {
    const { callId, sid } = await ringing.placeRingingCall();
    for (const callStatus of ['initiated', 'queued', 'ringing']) {
      expect((await status(callId, sid, { CallStatus: callStatus })).status).toBe(200);
    }
    expect(await service.database.carrierBindings.findById(callId).lean()).toMatchObject({ carrierSid: sid });
    expect(await ringing.callOf(callId)).toMatchObject({ status: 'RINGING' });
  });

  it('keeps initiated for the timeline as it was first received, and not that of another carrier call', async () => {
    const { callId, sid } = await ringing.placeRingingCall();
    const began = Date.now();
    await status(callId, sid, { CallStatus: 'initiated', SequenceNumber: '0' });
    const events = createCarrierEvents(service.database);
    const [first] = await events.list(callId);
    expect(first).toMatchObject({ carrierSid: sid, status: 'initiated', sequence: 0 });
    expect(first?.createdAt.getTime()).toBeGreaterThanOrEqual(began);
    await status(callId, newSid('CA'), { CallStatus: 'initiated', SequenceNumber: '7' });
    await status(callId, sid, { CallStatus: 'initiated', SequenceNumber: '0' });
    await status(callId, sid, { CallStatus: 'ringing', SequenceNumber: '1' });
    expect(await events.list(callId)).toMatchObject([first, { status: 'ringing', sequence: 1 }]);
    await events.remove(callId);
    expect(await events.list(callId)).toEqual([]);
  });

  it('ignores callbacks of another carrier call and of the other mode’s account', async () => {
    const { callId, sid } = await ringing.placeRingingCall();
    await status(callId, sid, { CallStatus: 'initiated' });
    expect((await status(callId, newSid('CA'), { CallStatus: 'completed', CallDuration: '60' })).status).toBe(200);
    expect((await status(callId, sid, { CallStatus: 'completed', CallDuration: '60' }, 'test')).status).toBe(200);
    // If the service had not ignored the earlier callback, the call would have ended before this one.
    await status(callId, sid, { CallStatus: 'in-progress' });
    expect(await eventually(async () => (await ringing.callOf(callId))?.status === 'IN_PROGRESS')).toBe(true);
  });

  it('responds with 200 for an unknown call', async () => {
    expect((await status('call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN', newSid('CA'), { CallStatus: 'completed' })).status).toBe(
      200,
    );
    expect((await status('nonsense', newSid('CA'), { CallStatus: 'completed' })).status).toBe(200);
    const unknown = { CallSid: newSid('CA'), CallStatus: 'completed' };
    expect((await service.carrierPost('/carrier/status', unknown)).status).toBe(200);
  });

  it('responds with 200 without a call or status and changes nothing', async () => {
    const { callId, sid } = await ringing.placeRingingCall();
    const at = (name: string) => `/carrier/calls/${callId}/${name}`;
    expect((await service.carrierPost(at('status'), { CallStatus: 'completed' })).status).toBe(200);
    expect((await status(callId, sid, {})).status).toBe(200);
    expect((await service.carrierPost(at('amd'), { CallSid: sid })).status).toBe(200);
    expect((await service.carrierPost('/carrier/status', {})).status).toBe(200);
    expect((await service.carrierPost(at('twiml'), {})).text).toContain(HANG_UP);
    expect(await ringing.callOf(callId)).toMatchObject({ status: 'RINGING' });
  });

  it('signals a repeated callback to the call once', async () => {
    const { callId, sid } = await ringing.placeRingingCall();
    const inProgress = { CallStatus: 'in-progress', SequenceNumber: '1' };
    for (let i = 0; i < 5; i++) expect((await status(callId, sid, inProgress)).status).toBe(200);
    await status(callId, sid, { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '1' });
    await ended(callId);
    expect(await service.countSignals(callId)).toBe(2);
  });

  it('responds with 503 while Temporal is unavailable, so that the carrier retries', async () => {
    const degraded = await startService({ minDeadlineMs: 0, worker: false, env: { TEMPORAL_ADDRESS: '127.0.0.1:9' } });
    const { callId, sid } = await ringing.placeRingingCall();
    const request = await service.database.callRequests.findById(callId).lean<CallRequestDocument>();
    await degraded.database.callRequests.create([request!]);
    const form = { CallSid: sid, CallStatus: 'completed' };
    const answer = await degraded.carrierPost(`/carrier/calls/${callId}/status`, form);
    expectError(answer, 503, 'SERVICE_UNAVAILABLE');
    // Waits because Temporal's client may be about to try again; a channel that closes now would throw in the client's
    // timer.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await degraded.close();
  });

  it('finds an inbound call by the CallSid of a number-level callback', async () => {
    const form = { CallSid: newSid('CA'), From: 'anonymous', To: '+12025550199' };
    const answer = await service.carrierPost(`/inbound_call?agent_id=${customer.agent._id}`, form);
    const [callId = ''] = /call_\w{26}/.exec(answer.text) ?? [];
    await service.carrierPost('/carrier/status', { CallSid: form.CallSid, CallStatus: 'completed', CallDuration: '3' });
    // The caller hung up before a conversation had begun.
    expect(await ended(callId)).toMatchObject({ status: 'CANCELLED', endReason: 'caller_hangup', costMicros: 0 });
    expect((await service.place(customer.liveKey, { call_id: callId })).json['status']).toBe('FAILED');
  });
});

describe('the response after a stream', () => {
  const afterStream = (callId: string, sid: string, query = '') =>
    service.carrierPost(`/carrier/calls/${callId}/after-stream${query}`, { CallSid: sid });

  async function placeAnsweredCall(): Promise<{ callId: string; sid: string }> {
    const call = await ringing.placeRingingCall();
    await status(call.callId, call.sid, { CallStatus: 'in-progress', SequenceNumber: '1' });
    await eventually(async () => (await ringing.callOf(call.callId))?.status === 'IN_PROGRESS');
    return call;
  }

  /** Stores a result as a media server does during the call. */
  async function storeResult(
    callId: string,
    sid: string,
    more: Partial<ConversationResultDocument> = {},
  ): Promise<void> {
    await service.database.conversationResults.create({
      _id: callId,
      carrierSid: sid,
      streamSid: sidOf('MZ', 1),
      startedAt: new Date(),
      agentAudioPlayed: true,
      turns: [],
      engine: 'test',
      ...more,
    });
  }

  /** Stores the start of a later stream, as a media server does. */
  const storeStreamStart = (callId: string, n: number) =>
    service.database.conversationResults.updateOne({ _id: callId }, { $set: { resumptions: n } });

  const twimlOfResumedStream = (callId: string, n: number, pause = '') =>
    `<Response>${pause}<Connect><Stream url="${STREAM_URL}/${callId}"><Parameter name="resumption" value="${n}"/>` +
    `</Stream></Connect><Redirect method="POST">${PUBLIC_BASE_URL}/carrier/calls/${callId}/after-stream?after=${n}` +
    '</Redirect></Response>';

  it('starts up to three more streams, with a pause from the second on, then apologises and reports media_failed', async () => {
    const { callId, sid } = await placeAnsweredCall();
    await storeResult(callId, sid);
    const pause = '<Pause length="1"/>';
    expect((await afterStream(callId, sid)).text).toContain(twimlOfResumedStream(callId, 1));
    // A request that the carrier repeats changes nothing.
    expect((await afterStream(callId, sid)).text).toContain(twimlOfResumedStream(callId, 1));
    for (const n of [1, 2]) {
      await storeStreamStart(callId, n);
      expect((await afterStream(callId, sid, `?after=${n}`)).text).toContain(
        twimlOfResumedStream(callId, n + 1, pause),
      );
    }
    await storeStreamStart(callId, 3);
    expect((await afterStream(callId, sid, '?after=3')).text).toMatch(APOLOGY);
    await status(callId, sid, { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '4' });
    expect(await ended(callId)).toMatchObject({ status: 'COMPLETED', endReason: 'media_failed', durationSeconds: 4 });
  });

  it('counts streams that stopping media servers closed apart, and never repeats a stream number', async () => {
    const { callId, sid } = await placeAnsweredCall();
    await storeResult(callId, sid);
    const bindings = createCarrierBindings(service.database);
    for (let n = 0; n < 12; n++) {
      await storeStreamStart(callId, n);
      await bindings.recordPlannedCloses([{ callId, streamNumber: n }]);
      expect((await afterStream(callId, sid, `?after=${n}`)).text).toContain(`value="${n + 1}"`);
    }
    // Streams that are lost afterwards still have their own count.
    for (const n of [12, 13, 14]) {
      await storeStreamStart(callId, n);
      expect((await afterStream(callId, sid, `?after=${n}`)).text).toContain(`value="${n + 1}"`);
    }
    await storeStreamStart(callId, 15);
    expect((await afterStream(callId, sid, '?after=15')).text).toMatch(APOLOGY);
  });

  it('is the same at the fallback URL, if the carrier could not use it', async () => {
    const { callId, sid } = await placeAnsweredCall();
    await storeResult(callId, sid);
    const fallback = (ErrorCode: string, failed: string) =>
      service.carrierPost(`/carrier/calls/${callId}/fallback`, {
        CallSid: sid,
        ErrorCode,
        ErrorUrl: `${PUBLIC_BASE_URL}/carrier/calls/${callId}/${failed}`,
      });
    expect((await fallback('11200', 'after-stream')).text).toContain(twimlOfResumedStream(callId, 1));
    // An error of the media stream counts as its end.
    expect((await fallback('31921', 'twiml')).text).toContain(twimlOfResumedStream(callId, 1));
    await storeStreamStart(callId, 1);
    expect((await fallback('11200', 'after-stream?after=1')).text).toContain('value="2"');
  });

  it('does not count rejected streams among the three, even after a lost one', async () => {
    const { callId, sid } = await placeAnsweredCall();
    await storeResult(callId, sid);
    for (const n of [0, 1, 2, 3]) {
      // The first two streams do not start, as if a media server that shuts down had rejected them.
      if (n > 2) await storeStreamStart(callId, n);
      expect((await afterStream(callId, sid, `?after=${n}`)).text).toContain(`value="${n + 1}"`);
    }
    await storeStreamStart(callId, 4);
    expect((await afterStream(callId, sid, '?after=4')).text).toContain('value="5"');
    await storeStreamStart(callId, 5);
    expect((await afterStream(callId, sid, '?after=5')).text).toMatch(APOLOGY);
    await status(callId, sid, { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '4' });
    expect(await ended(callId)).toMatchObject({ status: 'COMPLETED', endReason: 'media_failed' });
  });

  it('makes the call FAILED at no cost if no stream ever started', async () => {
    const { callId, sid } = await placeAnsweredCall();
    for (const n of [0, 1, 2, 3, 4]) {
      expect((await afterStream(callId, sid, `?after=${n}`)).text).toContain('<Stream');
    }
    expect((await afterStream(callId, sid, '?after=5')).text).toMatch(APOLOGY);
    await status(callId, sid, { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '4' });
    expect(await ended(callId)).toMatchObject({ status: 'FAILED', endReason: 'media_failed', costMicros: 0 });
  });

  it.each(['?after=9', '?after=-1', '?after=x', '?after=1&after=2', '?other=1'])(
    'treats %s as the first stream',
    async (query) => {
      const { callId, sid } = await placeAnsweredCall();
      expect((await afterStream(callId, sid, query)).text).toContain(twimlOfResumedStream(callId, 1));
      await status(callId, sid, { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '1' });
    },
  );

  it('hangs up without a signal if the conversation has ended, or for a carrier call that is not bound', async () => {
    const { callId, sid } = await placeAnsweredCall();
    expect((await afterStream(callId, newSid('CA'))).text).toBe(HANG_UP);
    await storeResult(callId, sid, { endedAt: new Date(), endReason: 'agent_hangup' });
    expect((await afterStream(callId, sid)).text).toBe(HANG_UP);
    await status(callId, sid, { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '4' });
    expect(await ended(callId)).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup' });
    expect(await service.countSignals(callId)).toBe(2);
    // An ended call and an unknown call get the same response.
    expect((await afterStream(callId, sid)).text).toBe(HANG_UP);
    expect((await afterStream('call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN', newSid('CA'))).text).toBe(HANG_UP);
  });

  it('is the same for an inbound call', async () => {
    const form = { CallSid: newSid('CA'), From: 'anonymous', To: '+12025550199' };
    const answer = await service.carrierPost(`/inbound_call?agent_id=${customer.agent._id}`, form);
    const [callId = ''] = /call_\w{26}/.exec(answer.text) ?? [];
    await storeResult(callId, form.CallSid);
    expect((await afterStream(callId, form.CallSid)).text).toContain(twimlOfResumedStream(callId, 1));
    // The workflow has recorded that it granted the stream. Media servers read this record.
    expect(await service.database.carrierBindings.findById(callId).lean()).toMatchObject({ resumptions: 1 });
    await service.carrierPost('/carrier/status', { CallSid: form.CallSid, CallStatus: 'completed', CallDuration: '3' });
    expect(await ended(callId)).toMatchObject({ status: 'COMPLETED', endReason: 'caller_hangup', durationSeconds: 3 });
  });
});
