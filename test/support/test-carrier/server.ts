import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { WebSocket } from 'ws';
import type { MediaEvent } from '../../../src/telephony/media.js';
import { secondsOf, type Action, type TestCall } from './carrier';
import { encode } from './codec';
import type { Notice } from './routes';

const RINGS_MS = 100;
const FRAME_MS = 20;

interface DialRequest {
  to: string;
  from: string;
  answer: string;
  events: string;
  max_seconds: number;
}

/** Starts the test carrier's server on loopback: its REST API, its signed callbacks and its media streams. */
export async function startTestCarrierServer(p: { accountId: string; secret: string; port: number }) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const calls = new Map<string, { call: TestCall; request: DialRequest; socket?: WebSocket; notices: number }>();
  /** How many bytes of audio the carrier has received in each call. */
  const receivedBytes = new Map<string, number>();
  const timers = new Set<NodeJS.Timeout>();
  let closed = false;

  function later(ms: number, work: () => Promise<void> | void): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      if (!closed) void Promise.resolve(work()).catch(() => undefined);
    }, ms);
    timers.add(timer);
  }

  function signed(url: string, notice: Notice): { headers: Record<string, string>; body: string } {
    const body = JSON.stringify(notice);
    const signature = sign(null, Buffer.from(`${url}\n${body}`), privateKey).toString('base64');
    const headers = {
      'content-type': 'application/json',
      'x-test-account': p.accountId,
      'x-test-signature': signature,
    };
    return { headers, body };
  }

  async function post(url: string, notice: Notice): Promise<Action[]> {
    const { headers, body } = signed(url, notice);
    const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(10_000) });
    const text = await answer.text();
    return answer.ok && text !== '' ? (JSON.parse(text) as { actions: Action[] }).actions : [{ do: 'hang_up' }];
  }

  async function reportState(id: string, state: NonNullable<Notice['state']>): Promise<void> {
    const entry = calls.get(id)!;
    const { call, request } = entry;
    const end = state === 'over' ? { outcome: call.outcome ?? 'completed', seconds: secondsOf(call) } : {};
    await post(request.events, { call: id, state, n: entry.notices++, at: Date.now(), ...end });
  }

  async function end(id: string, outcome: NonNullable<TestCall['outcome']>): Promise<void> {
    const entry = calls.get(id)!;
    if (entry.call.state === 'over') return;
    Object.assign(entry.call, { state: 'over', outcome, ended_ms: Date.now() });
    entry.socket?.close(1000);
    await reportState(id, 'over');
  }

  async function answer(id: string): Promise<void> {
    const { call, request } = calls.get(id)!;
    if (call.state !== 'ringing') return;
    Object.assign(call, { state: 'talking', answered_ms: Date.now() });
    later(call.max_seconds * 1_000, () => end(id, 'completed'));
    await reportState(id, 'talking');
    await follow(id, await post(request.answer, { call: id }));
  }

  async function follow(id: string, [action]: Action[]): Promise<void> {
    if (action?.do === 'connect') return stream(id, action);
    await end(id, 'completed');
  }

  /** Opens a media stream in which two neighboring messages always arrive in the wrong order. */
  function stream(id: string, { url, attempt, after }: Extract<Action, { do: 'connect' }>): void {
    const socket = new WebSocket(url);
    const entry = calls.get(id)!;
    entry.socket = socket;
    let number = 0;
    let waiting: ReturnType<typeof encode> | undefined;
    const put = ({ data, isBinary }: ReturnType<typeof encode>) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(data, { binary: isBinary });
    };
    const say = (event: MediaEvent) => {
      const message = encode(number++, event);
      if (event.event === 'start' || waiting !== undefined || event.event === 'mark') {
        put(message);
        if (waiting !== undefined) put(waiting);
        waiting = undefined;
      } else waiting = message;
    };
    let ms = 0;
    let frames: NodeJS.Timeout | undefined;
    socket.on('open', () => {
      say({ event: 'start', carrierSid: id, streamId: randomUUID(), isTelephoneAudio: true, streamNumber: attempt });
      frames = setInterval(() => {
        say({ event: 'media', mulaw: Buffer.alloc(160, 0xff), timestampMs: ms });
        ms += FRAME_MS;
      }, FRAME_MS);
    });
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) receivedBytes.set(id, (receivedBytes.get(id) ?? 0) + data.length);
      else {
        const message = JSON.parse(data.toString('utf8')) as { t: string; tag?: string };
        if (message.t === 'tag') say({ event: 'mark', name: message.tag ?? '' });
      }
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearInterval(frames);
      if (entry.call.state === 'over' || closed) return;
      later(0, async () => follow(id, await post(after, { call: id })));
    });
  }

  function place(request: DialRequest): TestCall {
    const id = randomUUID();
    const { from, to, max_seconds } = request;
    const call: TestCall = { id, from, to, state: 'queued', created_ms: Date.now(), max_seconds };
    calls.set(id, { call, request, notices: 0 });
    later(RINGS_MS / 2, async () => {
      if (call.state !== 'queued') return;
      call.state = 'ringing';
      await reportState(id, 'ringing');
    });
    later(RINGS_MS * 2, () => answer(id));
    return call;
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const reply = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.headers.authorization !== `Bearer ${p.secret}`) return void reply(401, {});
    const [, id = '', order] = /^\/v1\/calls\/([^/]+)(\/end)?$/.exec(pathname) ?? [];
    if (pathname === '/v1/calls' && request.method === 'POST') {
      return void reply(202, place(JSON.parse(Buffer.concat(chunks).toString('utf8')) as DialRequest));
    }
    if (pathname === '/v1/calls') {
      const found = [...calls.values()].map(({ call }) => call);
      const [to, from, since] = ['to', 'from', 'since'].map((name) => searchParams.get(name));
      return void reply(
        200,
        found.filter((call) => call.to === to && call.from === from && call.created_ms >= Number(since)).toReversed(),
      );
    }
    const entry = calls.get(id);
    if (entry === undefined) return void reply(404, {});
    if (order !== undefined)
      void end(id, entry.call.state === 'talking' ? 'completed' : 'canceled').catch(() => undefined);
    return void reply(200, entry.call);
  }

  const server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((resolve) => server.listen(p.port, '127.0.0.1', resolve));
  return {
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    signed,
    calls: () => [...calls.values()].map(({ call }) => call),
    receivedBytes: (id: string) => receivedBytes.get(id) ?? 0,
    async close(): Promise<void> {
      closed = true;
      for (const timer of timers) clearTimeout(timer);
      for (const { socket } of calls.values()) socket?.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
