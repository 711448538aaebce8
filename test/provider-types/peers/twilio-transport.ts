// OpenAI's own Twilio transport (`@openai/agents-extensions`) talks with our simulated carrier, and with our fake of the
// Realtime API: what the fakes reject, a client of the provider would send; what they lack, it would miss.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RealtimeAgent, RealtimeSession } from '@openai/agents/realtime';
import { TwilioRealtimeTransportLayer } from '@openai/agents-extensions';
import { WebSocketServer, type WebSocket } from 'ws';
import { startFakeRealtime, type FakeRealtime } from '../../integration/voice/fakes/openai-realtime.js';
import { startBench, until, type Bench, type SimulatedCall } from '../../integration/telephony/support/simulator.js';

const TALK_MS = 60_000;

/** A customer of the carrier: it answers each call with a stream, on which OpenAI's transport talks. */
async function openCustomer(fake: FakeRealtime) {
  const failures: unknown[] = [];
  const sessions: RealtimeSession[] = [];
  const server = createServer((_, response) => {
    const { port } = server.address() as AddressInfo;
    response.writeHead(200, { 'content-type': 'text/xml' });
    response.end(`<Response><Connect><Stream url="ws://127.0.0.1:${port}/media"/></Connect></Response>`);
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => void talk(socket).catch((error: unknown) => failures.push(error)));

  async function talk(socket: WebSocket): Promise<void> {
    const transport = new TwilioRealtimeTransportLayer({ twilioWebSocket: socket });
    const agent = new RealtimeAgent({ name: 'Amber', instructions: 'Confirm the appointment of tomorrow at ten.' });
    // As in its documentation: without `audio`, this version asks for the wrong audio format.
    const config = { audio: { output: { voice: 'verse' } } };
    const session = new RealtimeSession(agent, { transport, model: 'gpt-realtime', config });
    sessions.push(session);
    session.on('error', ({ error }) => failures.push(error));
    const url = `${fake.baseUrl.replace('http', 'ws')}/realtime?model=gpt-realtime`;
    await session.connect({ apiKey: 'test-key', url });
    transport.sendEvent({ type: 'response.create' });
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    failures,
    sessions,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/twiml`,
    async close(): Promise<void> {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Customer = Awaited<ReturnType<typeof openCustomer>>;

/** Lets a scripted person of the carrier call the customer. */
async function place(bench: Bench, customer: Customer, script: string): Promise<string> {
  const placed = { to: '+12025550100', from: '+12025550199', url: customer.url, script };
  const { status, body } = await bench.control('/inbound', placed);
  assert.equal(status, 201);
  return (body as { sid: string }).sid;
}

/** Waits until the person has said everything. */
async function talkToEnd(bench: Bench, sid: string): Promise<SimulatedCall> {
  const isOver = ({ did }: { did: string }) => did === 'finished' || did === 'timeout';
  await until(async () => (await bench.getCall(sid)).script.some(isOver), TALK_MS);
  return bench.getCall(sid);
}

async function main(): Promise<void> {
  const fake = await startFakeRealtime();
  const bench = await startBench();
  const customer = await openCustomer(fake);
  try {
    fake.script(['One.', 'Two.', 'Three.', 'Four.'].map((says) => ({ hears: says, says })));
    const talk = await talkToEnd(bench, await place(bench, customer, ANSWERS));
    assert.equal(talk.script.at(-1)?.did, 'finished');
    const [stream] = talk.streams;
    assert.ok(stream !== undefined && stream.mediaReceived > 10, 'the transport has sent audio');
    assert.ok(
      stream.marks.some(({ name }) => name.startsWith('done:')),
      'the carrier has returned its marks',
    );
    assert.deepEqual(talk.errors, []);
    assert.deepEqual(fake.sessions.at(-1)?.errors, []);
    assert.deepEqual(customer.failures, []);
    console.log(`OpenAI's Twilio transport: a talk of ${talk.script.length} steps, ${stream.marks.length} marks`);

    const sid = await place(bench, customer, SILENT);
    await until(async () => ((await bench.getCall(sid)).streams[0]?.marks.length ?? 0) > 3, TALK_MS);
    customer.sessions.at(-1)?.interrupt();
    await until(async () => ((await bench.getCall(sid)).streams[0]?.clears ?? 0) > 0);
    const session = fake.sessions.at(-1);
    // It asks for the item that was cut off when the provider has confirmed that.
    await until(() => session?.events.some(({ type }) => type === 'conversation.item.retrieve') === true);
    assert.deepEqual(session?.errors, []);
    assert.deepEqual(customer.failures, []);
    console.log("OpenAI's Twilio transport: an interruption");
  } finally {
    await customer.close();
    await bench.close();
    await fake.close();
  }
}

/** The scripts of a person who gives four answers, and of a silent person. */
const [ANSWERS, SILENT] = ['11', '07'] as const;

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
