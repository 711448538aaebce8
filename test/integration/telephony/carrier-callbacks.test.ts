import { createSimulator, type Simulator } from '../../../src/telephony/simulator/server.js';
import { parseConfig } from '../../../src/platform/config/config.js';
import type { CallRequestDocument } from '../../../src/calls/call-request-model.js';
import type { CallDocument } from '../../../src/calls/call-model.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import type { ConversationResultDocument } from '../../../src/voice/results/model.js';
import { eventually, expectError, PUBLIC_BASE_URL, startService, STREAM_URL } from '../../support/http/harness.js';
import type { Customer, Service } from '../../support/http/harness.js';
import { newSid, sidOf } from '../../support/sids.js';

/** The simulated carrier takes the calls; its own callbacks go to an address nobody has, so that ours are the only ones. */
let simulator: Simulator;
let service: Service;
let customer: Customer;

beforeAll(async () => {
  const config = parseConfig({ NODE_ENV: 'test', SIMULATOR_PORT: '0', PUBLIC_BASE_URL: 'http://127.0.0.1:9' });
  simulator = createSimulator({ config, logger: createLogger({ role: 'test', level: 'silent' }) });
  const { port } = await simulator.listen();
  service = await startService({ env: { SIMULATOR_URL: `http://127.0.0.1:${port}` } });
  customer = await service.customer();
});
afterAll(async () => {
  await service.close();
  await simulator.close();
});

/** Rings without an answer for as long as a test needs. */
const NEVER_ANSWERS = '+12025550102';
const HANG_UP = '<?xml version="1.0" encoding="UTF-8"?><Response><Hangup/></Response>';
const APOLOGY = /<Response><Say>.+<\/Say><Hangup\/><\/Response>/;
const callOf = (callId: string) => service.database.calls.findById(callId).lean<CallDocument>();

async function carrierSids(): Promise<string[]> {
  const response = await fetch(`${service.config.carriers.live.baseUrl}/simulator/calls`);
  const { calls } = (await response.json()) as { calls: { sid: string }[] };
  return calls.map(({ sid }) => sid);
}

/** A call of ours and the carrier's call that was made for it. */
async function ringing(): Promise<{ callId: string; sid: string }> {
  const before = new Set(await carrierSids());
  const answer = await service.place(customer.liveKey, {
    to_phone_number: NEVER_ANSWERS,
    agent_id: customer.agent._id,
  });
  const sid = await eventually(async () => (await carrierSids()).find((known) => !before.has(known)));
  return { callId: String(answer.json['call_id']), sid };
}

function status(callId: string, sid: string, fields: Record<string, string>, mode: 'live' | 'test' = 'live') {
  return service.carrierPost(`/carrier/calls/${callId}/status`, { CallSid: sid, ...fields }, mode);
}

const ended = (callId: string) =>
  eventually(async () => {
    const call = await callOf(callId);
    return call !== null && call.endTime !== undefined && call;
  });

describe('the signature', () => {
  const paths = ['status', 'twiml', 'transfer-status', 'after-stream'].map(
    (name) => `/carrier/calls/call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN/${name}`,
  );

  it.each([...paths, '/carrier/status'])('is required on %s: missing or wrong is 403 FORBIDDEN', async (path) => {
    const { carrierAccountId } = service.config.carriers.live;
    const body = () =>
      new URLSearchParams({ AccountSid: carrierAccountId, CallSid: newSid('CA'), CallStatus: 'completed' });
    expectError(await service.request(path, { method: 'POST', body: body() }), 403, 'FORBIDDEN');
    const headers = { 'X-Twilio-Signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=' };
    expectError(await service.request(path, { method: 'POST', body: body(), headers }), 403, 'FORBIDDEN');
    // An API key does not stand in for it.
    expectError(await service.request(path, { method: 'POST', body: body(), key: customer.liveKey }), 403, 'FORBIDDEN');
  });

  it('covers every field, unknown ones and brackets too, and the raw query', async () => {
    const path = '/carrier/status?attempt=a%20b&x=%27';
    const form = { CallSid: newSid('CA'), CallStatus: 'ringing', 'Geo[City]': 'São Paulo', Empty: '', __proto__x: '1' };
    expect((await service.carrierPost(path, form)).status).toBe(200);
  });
});

describe('TwiML of an answered outbound call', () => {
  const twiml = (callId: string, sid: string, mode: 'live' | 'test' = 'live') =>
    service.carrierPost(`/carrier/calls/${callId}/twiml`, { CallSid: sid, CallStatus: 'in-progress' }, mode);

  it('streams the audio and binds the CallSid; any other carrier call is hung up', async () => {
    const { callId, sid } = await ringing();
    const answer = await twiml(callId, sid);
    expect(answer.headers.get('content-type')).toMatch(/^text\/xml/);
    expect(answer.text).toContain(`<Response><Connect><Stream url="${STREAM_URL}/${callId}"/></Connect><Redirect`);
    expect((await twiml(callId, sid)).text).toBe(answer.text);
    expect((await twiml(callId, newSid('CA'))).text).toBe(HANG_UP);
    expect(await service.database.carrierBindings.findById(callId).lean()).toMatchObject({ carrierSid: sid });
  });

  it('hangs up a call that is unknown, of the other mode, or closed', async () => {
    expect((await twiml('call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN', newSid('CA'))).text).toBe(HANG_UP);
    expect((await twiml('nonsense', newSid('CA'))).text).toBe(HANG_UP);
    const { callId, sid } = await ringing();
    expect((await twiml(callId, sid, 'test')).text).toBe(HANG_UP);
    // The dial binds the call, too, before or after this.
    const closed = { carrierSid: `closed:${callId}`, closed: true, boundAt: new Date() };
    await service.database.carrierBindings.updateOne({ _id: callId }, { $set: closed }, { upsert: true });
    expect((await twiml(callId, sid)).text).toBe(HANG_UP);
  });

  it('apologizes and hangs up while MongoDB is away', async () => {
    const crippled = await startService({ leastTimeMs: 0, worker: false });
    await crippled.database.close();
    const answer = await crippled.carrierPost('/carrier/calls/call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN/twiml', {
      CallSid: newSid('CA'),
    });
    expect(answer.status).toBe(200);
    expect(answer.text).toMatch(APOLOGY);
    const told = await crippled.carrierPost('/carrier/status', { CallSid: newSid('CA'), CallStatus: 'completed' });
    expectError(told, 503, 'SERVICE_UNAVAILABLE');
    await crippled.close({ databaseIsClosed: true });
  });
});

describe('status callbacks', () => {
  it('in-progress makes the call IN_PROGRESS, completed ends it with the carrier’s seconds', async () => {
    const { callId, sid } = await ringing();
    expect(
      (await status(callId, sid, { CallStatus: 'in-progress', SequenceNumber: '1', AnsweredBy: 'human' })).status,
    ).toBe(200);
    expect(await eventually(async () => (await callOf(callId))?.status === 'IN_PROGRESS')).toBe(true);
    const last = { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '7', Duration: '1' };
    expect((await status(callId, sid, last)).status).toBe(200);
    expect(await ended(callId)).toMatchObject({
      status: 'COMPLETED',
      answeredBy: 'human',
      durationSeconds: 7,
      costMicros: 17_500,
    });
    // Late and repeated ones are answered 200 and change nothing.
    expect((await status(callId, sid, { CallStatus: 'busy', SequenceNumber: '9' })).status).toBe(200);
    expect(await callOf(callId)).toMatchObject({ status: 'COMPLETED' });
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
  ])('%s ends the call FAILED with cost 0', async (callStatus, fields, endReason) => {
    const { callId, sid } = await ringing();
    await status(callId, sid, { CallStatus: callStatus, ...fields });
    expect(await ended(callId)).toMatchObject({ status: 'FAILED', endReason, costMicros: 0 });
  });

  it('initiated, queued and ringing bind the CallSid and tell the call nothing', async () => {
    const { callId, sid } = await ringing();
    for (const callStatus of ['initiated', 'queued', 'ringing']) {
      expect((await status(callId, sid, { CallStatus: callStatus })).status).toBe(200);
    }
    expect(await service.database.carrierBindings.findById(callId).lean()).toMatchObject({ carrierSid: sid });
    expect(await callOf(callId)).toMatchObject({ status: 'RINGING' });
  });

  it('of another carrier call than the bound one, and of the other mode’s account, are ignored', async () => {
    const { callId, sid } = await ringing();
    await status(callId, sid, { CallStatus: 'initiated' });
    expect((await status(callId, newSid('CA'), { CallStatus: 'completed', CallDuration: '60' })).status).toBe(200);
    expect((await status(callId, sid, { CallStatus: 'completed', CallDuration: '60' }, 'test')).status).toBe(200);
    // Had either been taken, the call would be over before this answer is.
    await status(callId, sid, { CallStatus: 'in-progress' });
    expect(await eventually(async () => (await callOf(callId))?.status === 'IN_PROGRESS')).toBe(true);
  });

  it('of an unknown call are answered 200', async () => {
    expect((await status('call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN', newSid('CA'), { CallStatus: 'completed' })).status).toBe(
      200,
    );
    expect((await status('nonsense', newSid('CA'), { CallStatus: 'completed' })).status).toBe(200);
    const unknown = { CallSid: newSid('CA'), CallStatus: 'completed' };
    expect((await service.carrierPost('/carrier/status', unknown)).status).toBe(200);
  });

  it('that name no call or no status are answered 200 and change nothing', async () => {
    const { callId, sid } = await ringing();
    const at = (name: string) => `/carrier/calls/${callId}/${name}`;
    expect((await service.carrierPost(at('status'), { CallStatus: 'completed' })).status).toBe(200);
    expect((await status(callId, sid, {})).status).toBe(200);
    expect((await service.carrierPost(at('amd'), { CallSid: sid })).status).toBe(200);
    expect((await service.carrierPost('/carrier/status', {})).status).toBe(200);
    expect((await service.carrierPost(at('twiml'), {})).text).toContain(HANG_UP);
    expect(await callOf(callId)).toMatchObject({ status: 'RINGING' });
  });

  it('repeated by the carrier reach the call once', async () => {
    const { callId, sid } = await ringing();
    const answered = { CallStatus: 'in-progress', SequenceNumber: '1' };
    for (let i = 0; i < 5; i++) expect((await status(callId, sid, answered)).status).toBe(200);
    await status(callId, sid, { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '1' });
    await ended(callId);
    expect(await service.countSignals(callId)).toBe(2);
  });

  it('get 503 while Temporal is away, so that the carrier tells us again', async () => {
    const crippled = await startService({ leastTimeMs: 0, worker: false, env: { TEMPORAL_ADDRESS: '127.0.0.1:9' } });
    const { callId, sid } = await ringing();
    const request = await service.database.callRequests.findById(callId).lean<CallRequestDocument>();
    await crippled.database.callRequests.create([request!]);
    const form = { CallSid: sid, CallStatus: 'completed' };
    const answer = await crippled.carrierPost(`/carrier/calls/${callId}/status`, form);
    expectError(answer, 503, 'SERVICE_UNAVAILABLE');
    // Temporal's client may be about to try once more, and a closed channel would throw in its timer.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await crippled.close();
  });

  it('of a number find the inbound call by its CallSid', async () => {
    const form = { CallSid: newSid('CA'), From: 'anonymous', To: '+12025550199' };
    const answer = await service.carrierPost(`/inbound_call?agent_id=${customer.agent._id}`, form);
    const [callId = ''] = /call_\w{26}/.exec(answer.text) ?? [];
    await service.carrierPost('/carrier/status', { CallSid: form.CallSid, CallStatus: 'completed', CallDuration: '3' });
    // Nobody was talked to: the caller gave up.
    expect(await ended(callId)).toMatchObject({ status: 'CANCELLED', endReason: 'caller_hangup', costMicros: 0 });
    expect((await service.place(customer.liveKey, { call_id: callId })).json['status']).toBe('FAILED');
  });
});

describe('after the stream', () => {
  const afterStream = (callId: string, sid: string, query = '') =>
    service.carrierPost(`/carrier/calls/${callId}/after-stream${query}`, { CallSid: sid });

  async function answered(): Promise<{ callId: string; sid: string }> {
    const call = await ringing();
    await status(call.callId, call.sid, { CallStatus: 'in-progress', SequenceNumber: '1' });
    await eventually(async () => (await callOf(call.callId))?.status === 'IN_PROGRESS');
    return call;
  }

  /** What a media server stored of the call so far. */
  async function stream(callId: string, sid: string, more: Partial<ConversationResultDocument> = {}): Promise<void> {
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

  /** A media server has noted the start of a later stream. */
  const started = (callId: string, n: number) =>
    service.database.conversationResults.updateOne({ _id: callId }, { $set: { resumptions: n } });

  const resumed = (callId: string, n: number, pause = '') =>
    `<Response>${pause}<Connect><Stream url="${STREAM_URL}/${callId}"><Parameter name="resumption" value="${n}"/>` +
    `</Stream></Connect><Redirect method="POST">${PUBLIC_BASE_URL}/carrier/calls/${callId}/after-stream?after=${n}` +
    '</Redirect></Response>';

  it('streams anew, three times at most, with a pause from the second on; then apologizes, and it is media_failed', async () => {
    const { callId, sid } = await answered();
    await stream(callId, sid);
    const pause = '<Pause length="1"/>';
    expect((await afterStream(callId, sid)).text).toContain(resumed(callId, 1));
    // The carrier's repeat of a request changes nothing.
    expect((await afterStream(callId, sid)).text).toContain(resumed(callId, 1));
    for (const n of [1, 2]) {
      await started(callId, n);
      expect((await afterStream(callId, sid, `?after=${n}`)).text).toContain(resumed(callId, n + 1, pause));
    }
    await started(callId, 3);
    expect((await afterStream(callId, sid, '?after=3')).text).toMatch(APOLOGY);
    await status(callId, sid, { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '4' });
    expect(await ended(callId)).toMatchObject({ status: 'COMPLETED', endReason: 'media_failed', durationSeconds: 4 });
  });

  it('takes a stream that was refused for none of the three, also when it was asked for after a lost one', async () => {
    const { callId, sid } = await answered();
    await stream(callId, sid);
    for (const n of [0, 1, 2, 3]) {
      // Media servers that stop refuse the upgrades of the first two.
      if (n > 2) await started(callId, n);
      expect((await afterStream(callId, sid, `?after=${n}`)).text).toContain(`value="${n + 1}"`);
    }
    await started(callId, 4);
    expect((await afterStream(callId, sid, '?after=4')).text).toContain('value="5"');
    await started(callId, 5);
    expect((await afterStream(callId, sid, '?after=5')).text).toMatch(APOLOGY);
    await status(callId, sid, { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '4' });
    expect(await ended(callId)).toMatchObject({ status: 'COMPLETED', endReason: 'media_failed' });
  });

  it('of a call on which no stream ever started it is FAILED and costs nothing', async () => {
    const { callId, sid } = await answered();
    for (const n of [0, 1, 2, 3, 4]) {
      expect((await afterStream(callId, sid, `?after=${n}`)).text).toContain('<Stream');
    }
    expect((await afterStream(callId, sid, '?after=5')).text).toMatch(APOLOGY);
    await status(callId, sid, { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '4' });
    expect(await ended(callId)).toMatchObject({ status: 'FAILED', endReason: 'media_failed', costMicros: 0 });
  });

  it.each(['?after=9', '?after=-1', '?after=x', '?after=1&after=2', '?other=1'])(
    'takes %s for the first stream',
    async (query) => {
      const { callId, sid } = await answered();
      expect((await afterStream(callId, sid, query)).text).toContain(resumed(callId, 1));
      await status(callId, sid, { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '1' });
    },
  );

  it('hangs up, and tells nothing, when the conversation’s end is stored, or for a carrier call that is not bound', async () => {
    const { callId, sid } = await answered();
    expect((await afterStream(callId, newSid('CA'))).text).toBe(HANG_UP);
    await stream(callId, sid, { endedAt: new Date(), endReason: 'agent_hangup' });
    expect((await afterStream(callId, sid)).text).toBe(HANG_UP);
    await status(callId, sid, { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '4' });
    expect(await ended(callId)).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup' });
    expect(await service.countSignals(callId)).toBe(2);
    // Of a call that is over, and of none at all.
    expect((await afterStream(callId, sid)).text).toBe(HANG_UP);
    expect((await afterStream('call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN', newSid('CA'))).text).toBe(HANG_UP);
  });

  it('works for an inbound caller the same', async () => {
    const form = { CallSid: newSid('CA'), From: 'anonymous', To: '+12025550199' };
    const answer = await service.carrierPost(`/inbound_call?agent_id=${customer.agent._id}`, form);
    const [callId = ''] = /call_\w{26}/.exec(answer.text) ?? [];
    await stream(callId, form.CallSid);
    expect((await afterStream(callId, form.CallSid)).text).toContain(resumed(callId, 1));
    // Media servers read there that the stream was granted.
    expect(await service.database.carrierBindings.findById(callId).lean()).toMatchObject({ resumptions: 1 });
    await service.carrierPost('/carrier/status', { CallSid: form.CallSid, CallStatus: 'completed', CallDuration: '3' });
    expect(await ended(callId)).toMatchObject({ status: 'COMPLETED', endReason: 'caller_hangup', durationSeconds: 3 });
  });
});
