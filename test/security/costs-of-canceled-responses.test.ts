import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAccounts } from '../../src/identity/accounts/accounts.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { createUsageMeter, estimateCostMicros } from '../../src/voice/engines/engine-usage.js';
import type { EngineCall } from '../../src/voice/engines/port.js';
import { createChatClient } from '../../src/voice/models/chat-client.js';
import { concludeCall } from '../../src/voice/models/conclusion.js';
import { eventually, openMediaFixture, type MediaFixture } from '../integration/voice/support/media-fixture';
import { openPipeline, type PipelineHarness } from '../integration/voice/support/pipeline-harness';
import { ANSWER_MS, placeRealtimeCall, type RealtimeCall } from '../integration/voice/support/realtime-call';
import { makeRealtimeHarness, type RealtimeHarness } from '../integration/voice/support/realtime-harness';
import { REAL_CARRIER } from './support/real-carrier.js';

/** 29,000 characters, so at least 5,000 tokens. */
const INSTRUCTION = 'Recite the whole of the law. '.repeat(1_000);
const GREETED_BY = '[The line is open. Begin to speak.]';
/** The audio lasts much longer than the test. */
const SLOW = { speed: 0.25 };

describe('a call that is hung up while the realtime model makes a response', () => {
  let call: RealtimeCall;
  afterEach(() => call.close());

  const answersByItself = () =>
    call.sent('session.update').at(-1)?.session?.audio?.input?.turn_detection?.['create_response'];
  const heard = (frames: number) => eventually(() => call.line.heard.length >= frames, ANSWER_MS);

  it('cancels the response and counts the usage that the provider reports for it', async () => {
    call = await placeRealtimeCall({ nasty: SLOW });
    await heard(10);
    const { usage } = await call.line.hangUp();
    expect(call.sent('response.cancel')).toHaveLength(1);
    expect(usage?.units).toMatchObject({ realtime_input_text_tokens: 40, realtime_output_audio_tokens: 60 });
  }, 30_000);

  it('counts an estimate if the provider does not report the usage in time, and ends at once', async () => {
    call = await placeRealtimeCall({ nasty: SLOW, call: { instruction: INSTRUCTION } });
    await heard(10);
    call.fake.nasty.hangs = true;
    const began = performance.now();
    const { usage } = await call.line.hangUp();
    expect(performance.now() - began).toBeLessThan(1_000);
    expect(usage?.units['realtime_input_text_tokens']).toBeGreaterThan(5_000);
    expect(usage?.units['realtime_output_audio_tokens']).toBeGreaterThan(0);
  }, 30_000);

  it('counts an estimate if the provider has not begun the response', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    call.fake.nasty.hangs = true;
    let isAsked = false;
    call.session().socket.on('message', (data: Buffer) => (isAsked ||= data.toString().includes('response.create')));
    for (const key of '12#') call.engine.onDtmf(key);
    await eventually(() => isAsked, ANSWER_MS);
    const { usage } = await call.line.hangUp();
    // The greeting has 40 tokens of input. Those of the next response are estimated from it.
    expect(usage?.units['realtime_input_text_tokens']).toBe(2 * 40);
  }, 60_000);

  it('counts an estimate of a response whose connection was lost', async () => {
    call = await placeRealtimeCall({ nasty: { closeAfterDeltas: 3 }, call: { instruction: INSTRUCTION } });
    await eventually(() => call.fake.sessions.length === 2, ANSWER_MS);
    const { units = {} } = call.line.usage() ?? {};
    expect(units['realtime_input_text_tokens']).toBeGreaterThan(5_000);
    expect(units['realtime_output_audio_tokens']).toBeGreaterThanOrEqual(12);
  }, 30_000);

  it('makes fewer responses after expensive ones', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    expect(answersByItself()).toBe(true);
    const usage = { input_token_details: { text_tokens: 40_000 }, output_token_details: { audio_tokens: 100 } };
    call.session().send({ type: 'response.created', response: { id: 'long' } });
    call.session().send({ type: 'response.done', response: { id: 'long', status: 'completed', output: [], usage } });
    await eventually(() => answersByItself() === false, 5_000);
    const before = call.sent('response.create').length;
    const turn = { item_id: 'turn_1', audio_start_ms: 100, audio_end_ms: 200 };
    call.session().send({ type: 'input_audio_buffer.speech_started', ...turn });
    call.session().send({ type: 'input_audio_buffer.speech_stopped', ...turn });
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(call.sent('response.create')).toHaveLength(before);
    expect(call.line.failed).toBeUndefined();
  }, 60_000);
});

describe('five calls that are hung up in the greeting of the realtime model', () => {
  let harness: RealtimeHarness;
  let media: MediaFixture;
  beforeAll(async () => {
    harness = await makeRealtimeHarness({ nasty: SLOW });
    media = await openMediaFixture({ engine: harness.factory, env: REAL_CARRIER });
  }, 120_000);
  afterAll(async () => {
    await media.close();
    await harness.close();
  });

  it('count towards the engine costs of their account', async () => {
    const account = await createAccounts(media.database).create({ name: 'Acme' });
    for (let count = 0; count < 5; count += 1) {
      const { callId, ...placed } = await media.placeCall({ accountId: account._id });
      const line = await media.openLine({ callId, ...placed });
      await eventually(() => line.heard.length > 20);
      const stop = { callSid: placed.carrierSid };
      line.socket.send(JSON.stringify({ event: 'stop', streamSid: placed.streamSid, stop }));
      await line.closed;
    }
    // The reported usage of one response costs 5,212 micro-USD.
    const _id = `${account._id}~live~engines~day`;
    const counted = async () => (await media.database.destinationCounts.findById(_id).lean())?.count ?? 0;
    await eventually(async () => (await counted()) >= 5 * 5_212);
    expect(await counted()).toBeLessThan(2 * 5 * 5_212);
  }, 120_000);
});

describe('a call whose pipeline model has not finished its reply', () => {
  let pipeline: PipelineHarness;
  beforeEach(async () => {
    pipeline = await openPipeline();
    await pipeline.factory.warm();
  }, 60_000);
  afterEach(() => pipeline.close());

  it.each([
    ['before the first word', { says: 'Hello.', afterMs: 10_000 }],
    ['while words arrive', { says: 'This is a long greeting without an end. '.repeat(40) }],
  ])('counts an estimate of the request when it is hung up %s', async (_when, answer) => {
    pipeline.chat.answers.set(GREETED_BY, answer);
    const line = pipeline.dial({ instruction: INSTRUCTION });
    await eventually(() => pipeline.chat.requests.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const began = performance.now();
    const { usage } = await line.hangUp();
    expect(performance.now() - began).toBeLessThan(500);
    expect(usage?.units['chat_input_tokens']).toBeGreaterThan(5_000);
  });

  it('counts both requests of a reply that fails because of endless tool arguments', async () => {
    const calls = { name: 'look_up', arguments: { day: 'x'.repeat(25_000) } };
    pipeline.chat.answers.set(GREETED_BY, { says: 'Hello.', calls });
    pipeline.chat.otherwise = () => ({ calls });
    const line = pipeline.dial({ instruction: INSTRUCTION });
    await eventually(() => line.failed !== undefined, ANSWER_MS);
    expect(pipeline.chat.requests).toHaveLength(2);
    const { usage } = await line.hangUp();
    expect(usage?.units['chat_input_tokens']).toBeGreaterThan(2 * 5_000);
    expect(usage?.units['chat_output_tokens']).toBeGreaterThanOrEqual(2 * 4_990);
  }, 60_000);

  it('counts nothing for requests that the model rejected', async () => {
    pipeline.chat.faults.push({ kind: 'status', status: 500 }, { kind: 'status', status: 500 });
    const line = pipeline.dial({ instruction: INSTRUCTION });
    await eventually(() => line.failed !== undefined, ANSWER_MS);
    const { usage } = await line.hangUp();
    expect(usage?.units['chat_input_tokens']).toBeUndefined();
  }, 60_000);
});

describe('the conclusion of a call', () => {
  let server: Server;
  let onRequest: RequestListener;
  beforeAll(async () => {
    server = createServer((request, response) => onRequest(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  async function unitsAfter(listener: RequestListener): Promise<Record<string, number>> {
    onRequest = listener;
    const { port } = server.address() as AddressInfo;
    const usage = createUsageMeter({});
    await concludeCall({
      chats: [{ chat: createChatClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'k', model: 'm' }), usage }],
      call: { callId: 'call_conclusion', outputTemplate: { note: null } } as unknown as EngineCall,
      turns: [{ speaker: 'caller', text: INSTRUCTION, startMs: 0, endMs: 1 }],
      withinMs: 500,
      logger: createLogger({ role: 'media', level: 'silent' }),
    });
    return usage.total().units;
  }

  it('counts an estimate if it takes too long', async () => {
    const units = await unitsAfter(() => undefined);
    expect(units['chat_input_tokens']).toBeGreaterThan(5_000);
    expect(units['chat_output_tokens']).toBeGreaterThanOrEqual(40);
  });

  it('counts the reported usage of each response that is unusable', async () => {
    const useless = { choices: [], usage: { prompt_tokens: 7_000, completion_tokens: 1 } };
    const units = await unitsAfter((_request, response) => void response.end(JSON.stringify(useless)));
    expect(units).toEqual({ chat_input_tokens: 14_000, chat_output_tokens: 2 });
  });

  it('counts nothing if the model rejects it', async () => {
    expect(await unitsAfter((_request, response) => void response.writeHead(400).end('{}'))).toEqual({});
  });
});

describe('the cost of an engine', () => {
  it('is computed with the configured prices although another unit has none', () => {
    const meter = createUsageMeter({ chat_input_tokens: 4 });
    meter.add('chat_input_tokens', 1_000_000);
    meter.add('recogniser_seconds', 1);
    expect(meter.total().costMicros).toBeNull();
    expect(estimateCostMicros(meter.total())).toBe(4_000_130);
  });
});
