import { decodeMulaw, MULAW_SILENCE } from '../../../src/voice/audio/mulaw.js';
import type { ToolAnswer } from '../../../src/voice/engines/port.js';
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

/** A call on the line whose engine waits for the test. */
async function talk(agent: Partial<AgentSnapshot> = {}) {
  const placed = await media.placeCall({ accountId, agent });
  const line = await media.openLine(placed);
  await eventually(() => engine.calls.has(placed.callId));
  const scripted = engine.calls.get(placed.callId) as ScriptedCall;
  closers.push(async () => {
    line.hangUp();
    await line.closed;
  });
  const use = (name: string, given: Record<string, unknown> = {}): Promise<ToolAnswer> =>
    scripted.sink.tool({ name, arguments: given });
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

describe('what an agent may do', () => {
  it('is told to its engine: its own tools, transfers where it has numbers, and what its account defines', async () => {
    const plain = await talk();
    expect(plain.call.tools.map(({ name }) => name)).toEqual(['end_call', 'send_dtmf']);
    const able = await talk({ transferNumbers: ['+12025550143'], tools: [toolAt('https://example.com/')] });
    expect(able.call.tools.map(({ name }) => name)).toEqual(['end_call', 'send_dtmf', 'transfer_call', 'look_up']);
    expect(able.call.tools[2]?.parameters).toMatchObject({ properties: { number: { enum: ['+12025550143'] } } });
    expect(able.call.tools[3]?.parameters).toEqual(JSON.parse(PARAMETERS));
  });

  it('is nothing else', async () => {
    const { use } = await talk();
    expect(await use('transfer_call', { number: '+12025550143' })).toEqual({
      ok: false,
      error: 'there is no tool transfer_call',
    });
    expect(await use('constructor')).toMatchObject({ ok: false });
  });
});

describe('end_call', () => {
  it('lets what is queued be heard, then ends the call as agent_hangup', async () => {
    const { sink, use, line, callId } = await talk();
    sink.audio('goodbye', speech(600));
    sink.endOfItem('goodbye');
    expect(await use('end_call')).toMatchObject({ ok: true });
    await line.closed;
    expect(line.heard.filter((frame) => frame[0] === 0x20).length).toBe(30);
    expect(await media.results.find(callId)).toMatchObject({ endReason: 'agent_hangup' });
  });
});

describe('send_dtmf', () => {
  it('presses the keys behind what is queued, and says so when they were heard', async () => {
    const { sink, use, line, scripted } = await talk();
    sink.audio('words', speech(200));
    sink.endOfItem('words');
    expect(await use('send_dtmf', { digits: '4#' })).toEqual({ ok: true, result: 'pressed' });
    const keys = line.heard.slice(10);
    expect(keys).toHaveLength(16);
    const loud = keys.map((frame) => Math.max(...decodeMulaw(frame)) > 10_000);
    const [tone, gap] = [Array<boolean>(5).fill(true), Array<boolean>(3).fill(false)];
    expect(loud).toEqual([...tone, ...gap, ...tone, ...gap]);
    expect(new Set(scripted.played.map(({ itemId }) => itemId))).toEqual(new Set(['words']));
  });

  it('says so when they were cut off', async () => {
    const { sink, use, line } = await talk();
    const pressed = use('send_dtmf', { digits: '1234567890' });
    await eventually(() => line.heard.length > 0);
    sink.clear();
    expect(await pressed).toEqual({ ok: false, error: 'the keys were cut off' });
  });

  it.each([[{ digits: '12x' }], [{ digits: '' }], [{ digits: '1'.repeat(33) }], [{}], [{ digits: 1 }]])(
    'refuses %j',
    async (given) => {
      const { use, line } = await talk();
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

  it('closes the stream after the last word, keeps the number out of the signal, and leaves it for the carrier', async () => {
    const { sink, use, line, callId } = await talk({ transferNumbers });
    sink.audio('words', speech(400));
    sink.endOfItem('words');
    expect(await use('transfer_call', { number: '+12025550143' })).toMatchObject({ ok: true });
    expect(await line.closed).toBe(1000);
    expect(line.heard.filter((frame) => frame[0] === 0x20).length).toBe(20);
    const result = await media.results.find(callId);
    expect(result).toMatchObject({ endReason: 'transferred', transferTo: '+12025550143', summary: 'Scripted.' });
    const signals = await media.signals(callId);
    expect(signals.at(-1)).toMatchObject({ kind: 'ended', reason: 'transferred' });
    expect(JSON.stringify(signals)).not.toContain('2025550143');
  });

  it('goes to no number that the caller or the model names', async () => {
    const { use, line } = await talk({ transferNumbers });
    for (const number of ['+12025550144', '12025550143', '+1911', '', 7]) {
      expect(await use('transfer_call', { number })).toMatchObject({ ok: false });
    }
    expect(line.socket.readyState).toBe(line.socket.OPEN);
  });

  it('goes to no range that is blocked, and none that the account may not call', async () => {
    const { use } = await talk({ transferNumbers });
    expect(await use('transfer_call', { number: '+19005550100' })).toEqual({
      ok: false,
      error: 'this number may not be called',
    });
    await createAccounts(media.database).setLimits(accountId, { allowedCountryPrefixes: ['+44'] });
    expect(await use('transfer_call', { number: '+12025550143' })).toMatchObject({ ok: false });
    await createAccounts(media.database).setLimits(accountId, { allowedCountryPrefixes: null });
  });

  it('may be tried again when it could not be checked', async () => {
    const { use, line } = await talk({ transferNumbers });
    const { collection } = media.database.accounts;
    const account = { _id: accountId as never };
    await collection.updateOne(account, { $set: { destinationCaps: 'unreadable' } });
    expect(await use('transfer_call', { number: '+12025550143' })).toEqual({
      ok: false,
      error: 'the tool does not work now',
    });
    await collection.updateOne(account, { $unset: { destinationCaps: '' } });
    expect(await use('transfer_call', { number: '+12025550143' })).toMatchObject({ ok: true });
    await line.closed;
  });

  it('stands when the engine fails while its last word is heard', async () => {
    const { sink, use, line, callId } = await talk({ transferNumbers });
    sink.audio('words', speech(1_000));
    sink.endOfItem('words');
    expect(await use('transfer_call', { number: '+12025550143' })).toMatchObject({ ok: true });
    sink.fail(new Error('the provider is gone'));
    expect(await line.closed).toBe(1000);
    expect(await media.results.find(callId)).toMatchObject({ endReason: 'transferred', transferTo: '+12025550143' });
  });

  it('lets go of the line only when the carrier can read the number, also when the database was away', async () => {
    const gate = await startGate((process.env['TEST_MONGODB_URI'] ?? '').replace('mongodb://', ''));
    const behind = await openMediaFixture({ engine: engine.factory, mongodbUri: `mongodb://${gate.address}` });
    try {
      const account = await createAccounts(behind.database).create({ name: 'Acme' });
      const placed = await behind.placeCall({ accountId: account._id, agent: { transferNumbers } });
      const line = await behind.openLine(placed);
      await eventually(() => engine.calls.has(placed.callId));
      const { sink } = engine.calls.get(placed.callId) as ScriptedCall;
      sink.audio('words', speech(400));
      sink.endOfItem('words');
      const number = '+12025550143';
      expect(await sink.tool({ name: 'transfer_call', arguments: { number } })).toMatchObject({ ok: true });
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

  it('is refused when the call is ending already', async () => {
    const { sink, use, line, callId } = await talk({ transferNumbers });
    sink.audio('goodbye', speech(1_000));
    sink.endOfItem('goodbye');
    sink.end('agent_hangup');
    expect(await use('transfer_call', { number: '+12025550143' })).toMatchObject({ ok: false });
    await line.closed;
    const result = await media.results.find(callId);
    expect(result?.endReason).toBe('agent_hangup');
    expect(result?.transferTo).toBeUndefined();
  });
});

describe('an HTTP tool', () => {
  it('POSTs its arguments as JSON, with the call’s id, and hands back what it is told', async () => {
    const { url, received } = await server((response) => response.end('{"status":"shipped","days":2}'));
    const { use, callId } = await talk({ tools: [toolAt(url)] });
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
    const { use } = await talk({ tools: [toolAt(url, 'GET')] });
    expect(await use('look_up', { order: 'a&b=c', n: 2 })).toEqual({ ok: true, result: 'in stock' });
    expect(received).toMatchObject([{ method: 'GET', path: '/hook?from=callwright&order=a%26b%3Dc&n=2', body: '' }]);
  });

  it('never changes what its own URL says by an argument that the model makes up', async () => {
    const { url, received } = await server((response) => response.end('{}'));
    const parameters = PARAMETERS.replace(/}$/, ',"additionalProperties":true}');
    const { use } = await talk({ tools: [{ ...toolAt(`${url}&tenant=acme`, 'GET'), parameters }] });
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
    ['a text too long', { order: '123456789' }],
    ['an endless text', { order: 'x'.repeat(20_000) }],
  ])('is not asked with %s; the model is told', async (_name, given) => {
    const { url, received } = await server((response) => response.end('{}'));
    const { use } = await talk({ tools: [toolAt(url)] });
    expect(await use('look_up', given)).toMatchObject({
      ok: false,
      error: expect.stringMatching(/arguments/) as string,
    });
    expect(received).toEqual([]);
  });

  it.each([
    ['an error', 500, {}, 'the server answered with status 500'],
    [
      'a redirect',
      302,
      { location: 'http://127.0.0.1:4/' },
      'the server answered with a redirect, which is not followed',
    ],
  ])('that answers with %s fails, and its words stay unheard', async (_name, status, headers, error) => {
    const { url } = await server((response) => response.writeHead(status, headers).end('secret stack trace'));
    const { use } = await talk({ tools: [toolAt(url)] });
    expect(await use('look_up', { order: 'A-7' })).toEqual({ ok: false, error });
  });

  it('hands back the beginning of a long answer, and refuses an endless one', async () => {
    const { url, received } = await server((response) =>
      response.end('a'.repeat(received.length === 1 ? 9_000 : 70_000)),
    );
    const { use } = await talk({ tools: [toolAt(url)] });
    const long = await use('look_up', { order: 'A-7' });
    expect(long).toMatchObject({ ok: true, result: expect.stringMatching(/^a{8192} \(cut off\)$/) as string });
    expect(await use('look_up', { order: 'A-7' })).toEqual({
      ok: false,
      error: 'the answer of the server is too large',
    });
  });

  it('that never answers is given up after 10 s, while the talk goes on', async () => {
    const { url } = await server(() => undefined);
    const { use, sink, line } = await talk({ tools: [toolAt(url)] });
    const startedAt = performance.now();
    const asked = use('look_up', { order: 'A-7' });
    sink.audio('words', speech(400));
    sink.endOfItem('words');
    await eventually(() => line.heard.length >= 20);
    expect(await asked).toEqual({ ok: false, error: 'the server did not answer in time' });
    expect(performance.now() - startedAt).toBeGreaterThan(9_500);
    expect(performance.now() - startedAt).toBeLessThan(15_500);
  });

  it('that is not there fails', async () => {
    const { use } = await talk({ tools: [toolAt('http://127.0.0.1:4/')] });
    expect(await use('look_up', { order: 'A-7' })).toEqual({ ok: false, error: 'the server could not be reached' });
  });

  it('is asked a hundred times in a call and no more', async () => {
    const { url, received } = await server((response) => response.end('{}'));
    const { use } = await talk({ tools: [toolAt(url)] });
    const answers = await Promise.all(Array.from({ length: 101 }, () => use('look_up', { order: 'A-7' })));
    expect(answers.filter(({ ok }) => ok)).toHaveLength(100);
    expect(received).toHaveLength(100);
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
      expect(await sink.tool({ name: 'look_up', arguments: { order: 'A-7' } })).toEqual({
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
