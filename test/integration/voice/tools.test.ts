import type { ServerResponse } from 'node:http';
import { decodeMulaw, MULAW_SILENCE } from '../../../src/voice/audio/mulaw.js';
import type { ToolResult } from '../../../src/voice/engines/port.js';
import { createAccounts } from '../../../src/identity/accounts/accounts.js';
import type { AgentSnapshot } from '../../../src/agents/agent-snapshot.js';
import { startReceiver, startTcpListener, type Receiver } from '../webhooks/support/receiver';
import { startGate } from './support/gate';
import { eventually, openMediaFixture, STREAM_URL, type MediaFixture } from './support/media-fixture';
import { createScriptedEngine, type ScriptedCall } from './support/scripted-engine';
import { PRODUCTION } from '../../support/production.js';

const engine = createScriptedEngine();
let media: MediaFixture;
let accountId: string;
const closers: (() => Promise<void>)[] = [];

beforeAll(async () => {
  media = await openMediaFixture({ engine: engine.factory });
  accountId = (await createAccounts(media.database).create({ name: 'Acme' }))._id;
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
afterAll(() => media.close());

/** Starts a call whose engine does only what the test tells it to do. */
async function startCall(agent: Partial<AgentSnapshot> = {}) {
  const placed = await media.placeCall({ accountId, agent });
  const line = await media.openLine(placed);
  await eventually(() => engine.calls.has(placed.callId));
  const scripted = engine.calls.get(placed.callId) as ScriptedCall;
  closers.push(async () => {
    line.hangUp();
    await line.closed;
  });
  const use = (name: string, given: Record<string, unknown> = {}): Promise<ToolResult> =>
    scripted.sink.runTool({ name, arguments: given });
  return { ...placed, ...scripted, scripted, line, use };
}

async function server(answer: Parameters<typeof startReceiver>[0]): Promise<Receiver> {
  const started = await startReceiver(answer);
  closers.push(() => started.close());
  return started;
}

const speech = (ms: number) => new Uint8Array(ms * 8).fill(0x20);
const PARAMETERS =
  '{"type":"object","properties":{"order":{"type":"string","maxLength":8},"n":{"type":"integer"}},"required":["order"]}';
const toolAt = (url: string, method: 'GET' | 'POST' = 'POST') => ({
  name: 'look_up',
  description: 'Looks up an order.',
  method,
  url,
  parameters: PARAMETERS,
});

describe('the tools of an agent', () => {
  it('are end_call and send_dtmf, transfer_call if it has numbers, and those of its account', async () => {
    const plain = await startCall();
    expect(plain.call.tools.map(({ name }) => name)).toEqual(['end_call', 'send_dtmf']);
    const able = await startCall({ transferNumbers: ['+12025550143'], tools: [toolAt('https://example.com/')] });
    expect(able.call.tools.map(({ name }) => name)).toEqual(['end_call', 'send_dtmf', 'transfer_call', 'look_up']);
    expect(able.call.tools[2]?.parameters).toMatchObject({ properties: { number: { enum: ['+12025550143'] } } });
    expect(able.call.tools[3]?.parameters).toEqual(JSON.parse(PARAMETERS));
  });

  it('do not include other tools', async () => {
    const { use } = await startCall();
    expect(await use('transfer_call', { number: '+12025550143' })).toEqual({
      ok: false,
      error: 'unknown tool transfer_call',
    });
    expect(await use('constructor')).toMatchObject({ ok: false });
  });
});

describe('end_call', () => {
  it('plays queued audio, then ends the call as agent_hangup', async () => {
    const { sink, use, line, callId } = await startCall();
    sink.sendAudio('goodbye', speech(600));
    sink.endItem('goodbye');
    expect(await use('end_call')).toMatchObject({ ok: true });
    await line.closed;
    expect(line.heard.filter((frame) => frame[0] === 0x20).length).toBe(30);
    expect(await media.results.find(callId)).toMatchObject({
      endReason: 'agent_hangup',
      toolCalls: [{ name: 'end_call', ok: true, arguments: '{}', result: expect.stringContaining('ends now') }],
    });
  });
});

describe('send_dtmf', () => {
  it('sends the digits after queued audio, and responds when they were played', async () => {
    const { sink, use, line, scripted } = await startCall();
    sink.sendAudio('words', speech(200));
    sink.endItem('words');
    expect(await use('send_dtmf', { digits: '4#' })).toEqual({ ok: true, result: 'pressed' });
    const digits = line.heard.slice(10);
    expect(digits).toHaveLength(16);
    const loud = digits.map((frame) => Math.max(...decodeMulaw(frame)) > 10_000);
    const [tone, gap] = [Array<boolean>(5).fill(true), Array<boolean>(3).fill(false)];
    expect(loud).toEqual([...tone, ...gap, ...tone, ...gap]);
    expect(new Set(scripted.played.map(({ itemId }) => itemId))).toEqual(new Set(['words']));
  });

  it('reports that the digits were interrupted', async () => {
    const { sink, use, line } = await startCall();
    const pressed = use('send_dtmf', { digits: '1234567890' });
    await eventually(() => line.heard.length > 0);
    sink.clear();
    expect(await pressed).toEqual({ ok: false, error: 'the tones of the digits were interrupted' });
  });

  it.each([[{ digits: '12x' }], [{ digits: '' }], [{ digits: '1'.repeat(33) }], [{}], [{ digits: 1 }]])(
    'rejects %j',
    async (given) => {
      const { use, line } = await startCall();
      expect(await use('send_dtmf', given)).toMatchObject({
        ok: false,
        error: expect.stringContaining('do not fit') as string,
      });
      expect(line.heard.every((frame) => frame.every((byte) => byte === MULAW_SILENCE))).toBe(true);
    },
  );
});

describe('transfer_call', () => {
  const transferNumbers = ['+12025550143', '+19005550100'];

  it('closes the stream after the agent’s last turn, keeps the number out of the signal, and stores it for the carrier', async () => {
    const { sink, use, line, callId } = await startCall({ transferNumbers });
    sink.sendAudio('words', speech(400));
    sink.endItem('words');
    expect(await use('transfer_call', { number: '+12025550143' })).toMatchObject({ ok: true });
    expect(await line.closed).toBe(1000);
    expect(line.heard.filter((frame) => frame[0] === 0x20).length).toBe(20);
    const result = await media.results.find(callId);
    expect(result).toMatchObject({ endReason: 'transferred', transferTo: '+12025550143', summary: 'Scripted.' });
    const signals = await media.signals(callId);
    expect(signals.at(-1)).toMatchObject({ kind: 'ended', reason: 'transferred' });
    expect(JSON.stringify(signals)).not.toContain('2025550143');
  });

  it('rejects a number of the caller or the model', async () => {
    const { use, line } = await startCall({ transferNumbers });
    for (const number of ['+12025550144', '12025550143', '+1911', '', 7]) {
      expect(await use('transfer_call', { number })).toMatchObject({ ok: false });
    }
    expect(line.socket.readyState).toBe(line.socket.OPEN);
  });

  it('rejects a blocked range, and one that the account may not call', async () => {
    const { use } = await startCall({ transferNumbers });
    expect(await use('transfer_call', { number: '+19005550100' })).toEqual({
      ok: false,
      error: 'this number may not be called',
    });
    await createAccounts(media.database).setLimits(accountId, { allowedCountryPrefixes: ['+44'] });
    expect(await use('transfer_call', { number: '+12025550143' })).toMatchObject({ ok: false });
    await createAccounts(media.database).setLimits(accountId, { allowedCountryPrefixes: null });
  });

  it('may be repeated if the number could not be checked', async () => {
    const { use, line } = await startCall({ transferNumbers });
    const { collection } = media.database.accounts;
    const account = { _id: accountId as never };
    await collection.updateOne(account, { $set: { destinationCaps: 'unreadable' } });
    expect(await use('transfer_call', { number: '+12025550143' })).toEqual({
      ok: false,
      error: 'the tool is unavailable',
    });
    await collection.updateOne(account, { $unset: { destinationCaps: '' } });
    expect(await use('transfer_call', { number: '+12025550143' })).toMatchObject({ ok: true });
    await line.closed;
  });

  it('succeeds if the engine fails while its last turn is played', async () => {
    const { sink, use, line, callId } = await startCall({ transferNumbers });
    sink.sendAudio('words', speech(1_000));
    sink.endItem('words');
    expect(await use('transfer_call', { number: '+12025550143' })).toMatchObject({ ok: true });
    sink.fail(new Error('the provider is gone'));
    expect(await line.closed).toBe(1000);
    expect(await media.results.find(callId)).toMatchObject({ endReason: 'transferred', transferTo: '+12025550143' });
  });

  it('closes the line only after the number is stored, even if the database was unavailable', async () => {
    const gate = await startGate((process.env['TEST_MONGODB_URI'] ?? '').replace('mongodb://', ''));
    const behind = await openMediaFixture({ engine: engine.factory, mongodbUri: `mongodb://${gate.address}` });
    try {
      const account = await createAccounts(behind.database).create({ name: 'Acme' });
      const placed = await behind.placeCall({ accountId: account._id, agent: { transferNumbers } });
      const line = await behind.openLine(placed);
      await eventually(() => engine.calls.has(placed.callId));
      const { sink } = engine.calls.get(placed.callId) as ScriptedCall;
      sink.sendAudio('words', speech(400));
      sink.endItem('words');
      const number = '+12025550143';
      expect(await sink.runTool({ name: 'transfer_call', arguments: { number } })).toMatchObject({ ok: true });
      gate.shut();
      setTimeout(gate.open, 6_000);
      await line.closed;
      expect(await behind.results.find(placed.callId)).toMatchObject({ transferTo: number });
    } finally {
      gate.open();
      await behind.close();
      await gate.close();
    }
  }, 60_000);

  it('is rejected if the call is already ending', async () => {
    const { sink, use, line, callId } = await startCall({ transferNumbers });
    sink.sendAudio('goodbye', speech(1_000));
    sink.endItem('goodbye');
    sink.end('agent_hangup');
    expect(await use('transfer_call', { number: '+12025550143' })).toMatchObject({ ok: false });
    await line.closed;
    const result = await media.results.find(callId);
    expect(result?.endReason).toBe('agent_hangup');
    expect(result?.transferTo).toBeUndefined();
  });
});

describe('an HTTP tool', () => {
  it('POSTs its arguments as JSON with the call id, and returns the response', async () => {
    const { url, received } = await server((response) => response.end('{"status":"shipped","days":2}'));
    const { use, callId } = await startCall({ tools: [toolAt(url)] });
    expect(await use('look_up', { order: 'A-7' })).toEqual({ ok: true, result: { status: 'shipped', days: 2 } });
    expect(received).toMatchObject([{ method: 'POST', path: '/hook?from=callwright', body: '{"order":"A-7"}' }]);
    expect(received[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-callwright-call-id': callId,
      'accept-encoding': 'identity',
    });
    expect(received[0]?.headers).not.toHaveProperty('authorization');
  });

  it('GETs with its arguments in the query', async () => {
    const { url, received } = await server((response) => response.end('in stock'));
    const { use } = await startCall({ tools: [toolAt(url, 'GET')] });
    expect(await use('look_up', { order: 'a&b=c', n: 2 })).toEqual({ ok: true, result: 'in stock' });
    expect(received).toMatchObject([{ method: 'GET', path: '/hook?from=callwright&order=a%26b%3Dc&n=2', body: '' }]);
  });

  it('keeps the parameters in its URL if the model invents an argument of the same name', async () => {
    const { url, received } = await server((response) => response.end('{}'));
    const parameters = PARAMETERS.replace(/}$/, ',"additionalProperties":true}');
    const { use } = await startCall({ tools: [{ ...toolAt(`${url}&tenant=acme`, 'GET'), parameters }] });
    await use('look_up', { order: 'A-7', tenant: 'other', from: 'elsewhere' });
    const query = new URL(received[0]?.path ?? '', url).searchParams;
    expect([query.getAll('tenant'), query.getAll('from'), query.get('order')]).toEqual([
      ['acme'],
      ['callwright'],
      'A-7',
    ]);
  });

  it.each([
    ['a missing argument', {}],
    ['another type', { order: 7 }],
    ['a text that is too long', { order: '123456789' }],
    ['an endless text', { order: 'x'.repeat(20_000) }],
  ])('is not called with %s, and the model gets an error', async (_name, given) => {
    const { url, received } = await server((response) => response.end('{}'));
    const { use } = await startCall({ tools: [toolAt(url)] });
    expect(await use('look_up', given)).toMatchObject({
      ok: false,
      error: expect.stringMatching(/arguments/) as string,
    });
    expect(received).toEqual([]);
  });

  it.each([
    ['an error', 500, {}, 'the server responded with status 500'],
    [
      'a redirect',
      302,
      { location: 'http://127.0.0.1:4/' },
      'the server responded with a redirect, which is not followed',
    ],
  ])('fails on %s without passing on the response', async (_name, status, headers, error) => {
    const { url } = await server((response) => response.writeHead(status, headers).end('secret stack trace'));
    const { use } = await startCall({ tools: [toolAt(url)] });
    expect(await use('look_up', { order: 'A-7' })).toEqual({ ok: false, error });
  });

  it('returns the beginning of a long response, and rejects an endless one', async () => {
    const { url, received } = await server((response) =>
      response.end('a'.repeat(received.length === 1 ? 9_000 : 70_000)),
    );
    const { use } = await startCall({ tools: [toolAt(url)] });
    const long = await use('look_up', { order: 'A-7' });
    expect(long).toMatchObject({ ok: true, result: expect.stringMatching(/^a{8192} \(cut off\)$/) as string });
    expect(await use('look_up', { order: 'A-7' })).toEqual({
      ok: false,
      error: 'the response of the server is too large',
    });
  });

  it('returns a deeply nested response as text, and rejects such arguments, while the session continues', async () => {
    const nested = `${'['.repeat(3_000)}${']'.repeat(3_000)}`;
    const target = await server((response) => response.end(nested));
    const { use, line } = await startCall({ tools: [toolAt(target.url)] });
    const answer = await use('look_up', { order: 'A-7' });
    expect(answer.ok && answer.result === nested).toBe(true);
    expect(await use('look_up', { order: JSON.parse(nested) as unknown })).toMatchObject({ ok: false });
    expect(await use('look_up', { order: 'A-8' })).toMatchObject({ ok: true });
    expect(line.socket.readyState).toBe(line.socket.OPEN);
  });

  it('is given up after 10 s without a response, while the session continues', async () => {
    const { url } = await server(() => undefined);
    const { use, sink, line } = await startCall({ tools: [toolAt(url)] });
    const startedAt = performance.now();
    const answer = use('look_up', { order: 'A-7' });
    sink.sendAudio('words', speech(400));
    sink.endItem('words');
    await eventually(() => line.heard.length >= 20);
    expect(await answer).toEqual({ ok: false, error: 'the server did not respond in time' });
    expect(performance.now() - startedAt).toBeGreaterThan(9_500);
    expect(performance.now() - startedAt).toBeLessThan(15_500);
  });

  it('fails if its server is not reachable', async () => {
    const { use } = await startCall({ tools: [toolAt('http://127.0.0.1:4/')] });
    expect(await use('look_up', { order: 'A-7' })).toEqual({ ok: false, error: 'the server could not be reached' });
  });

  it('is called at most a hundred times per call', async () => {
    const { url, received } = await server((response) => response.end('{}'));
    const { use } = await startCall({ tools: [toolAt(url)] });
    const answers = await Promise.all(Array.from({ length: 101 }, () => use('look_up', { order: 'A-7' })));
    expect(answers.filter(({ ok }) => ok)).toHaveLength(100);
    expect(received).toHaveLength(100);
  });

  it('is requested at most eight times at once, and not after its call has waited for 5 s', async () => {
    const open: ServerResponse[] = [];
    const { url, received } = await server((response) => void open.push(response));
    const { use } = await startCall({ tools: [toolAt(url)] });
    const answers = Array.from({ length: 10 }, (_, n) => use('look_up', { order: `A-${n}` }));
    await eventually(() => open.length === 8);
    open[0]?.end('{}');
    await eventually(() => open.length === 9);
    expect(await answers[9]).toEqual({ ok: false, error: 'too many tools are in use; try again in a few seconds' });
    for (const response of open.slice(1)) response.end('{}');
    expect(await Promise.all(answers.slice(0, 9))).toEqual(Array.from({ length: 9 }, () => ({ ok: true, result: {} })));
    expect(received).toHaveLength(9);
  });

  it('never reaches a private address in production', async () => {
    const canary = await startTcpListener();
    closers.push(() => canary.close());
    const guarded = await openMediaFixture({
      engine: engine.factory,
      env: { ...PRODUCTION, STREAM_URL },
    });
    try {
      const placed = await guarded.placeCall({ agent: { tools: [toolAt(`http://127.0.0.1:${canary.port}/`)] } });
      const line = await guarded.openLine(placed);
      await eventually(() => engine.calls.has(placed.callId));
      const { sink } = engine.calls.get(placed.callId) as ScriptedCall;
      expect(await sink.runTool({ name: 'look_up', arguments: { order: 'A-7' } })).toEqual({
        ok: false,
        error: 'the server is not publicly reachable',
      });
      expect(canary.connections()).toBe(0);
      line.hangUp();
      await line.closed;
    } finally {
      await guarded.close();
    }
  });
});
