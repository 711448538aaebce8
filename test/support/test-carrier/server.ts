import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { WebSocket } from 'ws';
import type { MediaEvent } from '../../../src/telephony/media.js';
import { secondsOf, type Action, type TestCall } from './carrier';
import { encode } from './codec';
import type { ArrivingCall } from '../carrier-contract/double';
import type { Notice } from './routes';

const RINGS_MS = 100;
const STREAM_BREAKS_MS = 800;
const FRAME_MS = 20;

interface DialRequest {
  to: string;
  from: string;
  answer: string;
  events: string;
  ring_seconds: number;
  max_seconds: number;
}

/** The callees by number. All others are a person who does not hang up. */
export const CALLEES = {
  hangsUp: '+12025550111',
  losesStream: '+12025550112',
  busy: '+12025550113',
  unanswered: '+12025550114',
} as const;

/** The responses to requests to dial these numbers. Each fault applies to the first requests with the same URLs. */
export const DIAL_ERRORS: Readonly<Record<string, { status: number; error: string; times?: number }>> = {
  '+12025550121': { status: 401, error: 'bad_token' },
  '+12025550122': { status: 403, error: 'caller_not_allowed' },
  '+12025550123': { status: 422, error: 'bad_number' },
  '+12025550124': { status: 429, error: 'slow_down', times: 2 },
  '+12025550125': { status: 409, error: 'all_lines_busy' },
  '+12025550126': { status: 500, error: 'broken' },
};
/** Requests to dial this number place a call, but get no response. */
export const LOST_RESPONSE = '+12025550127';
/** Requests to dial this number place no call and get no response. */
export const NO_RESPONSE = '+12025550128';

/** A call with what the server needs to conduct it. */
interface Entry {
  call: TestCall;
  request: DialRequest;
  socket?: WebSocket;
  streams: number;
  notices: number;
  /** The responses with instructions. */
  instructions: string[];
}

/** Starts the test carrier's server on loopback: its REST API, its signed callbacks and its media streams. */
export async function startTestCarrierServer(p: { accountId: string; secret: string; port: number; apiUrl: string }) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const calls = new Map<string, Entry>();
  const dials = new Map<string, number>();
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
    if (!answer.ok || text === '') return [{ do: 'hang_up' }];
    calls.get(notice.call)?.instructions.push(text);
    return (JSON.parse(text) as { actions: Action[] }).actions;
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
    if (action?.do === 'call') return transfer(id, action);
    await end(id, action?.do === 'decline' ? 'busy' : 'completed');
  }

  /** Calls another party. If it answers, it hangs up after a moment. */
  async function transfer(id: string, { number, events, after }: Extract<Action, { do: 'call' }>): Promise<void> {
    const otherSide = number === CALLEES.busy ? ('absent' as const) : ('answered' as const);
    const notice: Notice = { call: id, other_side: otherSide };
    later(RINGS_MS, async () => {
      if (otherSide === 'answered') await post(events, notice);
      later(RINGS_MS, async () => {
        if (calls.get(id)?.call.state !== 'over') await follow(id, await post(after, notice));
      });
    });
  }

  /** Opens a media stream in which two neighboring messages always arrive in the wrong order. */
  function stream(id: string, { url, attempt, after }: Extract<Action, { do: 'connect' }>): void {
    const socket = new WebSocket(url);
    const entry = calls.get(id)!;
    entry.socket = socket;
    entry.streams += 1;
    if (entry.call.to === CALLEES.losesStream && entry.streams === 1) later(STREAM_BREAKS_MS, () => socket.terminate());
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
      if (isBinary) return;
      const message = JSON.parse(data.toString('utf8')) as { t: string; tag?: string };
      if (message.t === 'tag') say({ event: 'mark', name: message.tag ?? '' });
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearInterval(frames);
      if (entry.call.state === 'over' || closed) return;
      later(0, async () => follow(id, await post(after, { call: id })));
    });
  }

  function enter(request: DialRequest, state: 'queued' | 'ringing', direction: TestCall['direction']): TestCall {
    const id = randomUUID();
    const { from, to, max_seconds } = request;
    const call: TestCall = { id, direction, from, to, state, created_ms: Date.now(), max_seconds };
    calls.set(id, { call, request, streams: 0, notices: 0, instructions: [] });
    return call;
  }

  function place(request: DialRequest): TestCall {
    const call = enter(request, 'queued', 'out');
    const { id, to } = call;
    later(RINGS_MS / 2, async () => {
      if (call.state !== 'queued') return;
      call.state = 'ringing';
      await reportState(id, 'ringing');
    });
    if (to === CALLEES.busy) later(RINGS_MS * 2, () => end(id, 'busy'));
    else if (to === CALLEES.unanswered) later(request.ring_seconds * 1_000, () => end(id, 'no-answer'));
    else later(RINGS_MS * 2, () => answer(id));
    return call;
  }

  /** Makes a call arrive. It is answered only if the service does not decline it. */
  function receive({ from, to, forwardedFrom }: ArrivingCall): string {
    const events = `${p.apiUrl}/carriers/test/events`;
    const request = { from, to, answer: '', events, ring_seconds: 60, max_seconds: 14_400 };
    const call = enter(request, 'ringing', 'in');
    const { id } = call;
    later(0, async () => {
      const actions = await post(`${p.apiUrl}/carriers/test/calls`, {
        call: id,
        from,
        to,
        forwarded_by: forwardedFrom,
      });
      if (actions[0]?.do === 'connect') Object.assign(call, { state: 'talking', answered_ms: Date.now() });
      await follow(id, actions);
    });
    return id;
  }

  /** Returns the error response to a request to dial; undefined if the call is to be placed. */
  function errorOf({ to, answer: url }: DialRequest): { status: number; error: string } | undefined {
    const fault = DIAL_ERRORS[to];
    const count = (dials.get(url) ?? 0) + 1;
    dials.set(url, count);
    return fault !== undefined && count <= (fault.times ?? Infinity) ? fault : undefined;
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
      const dial = JSON.parse(Buffer.concat(chunks).toString('utf8')) as DialRequest;
      const fault = errorOf(dial);
      if (fault !== undefined) return void reply(fault.status, { error: fault.error });
      if (dial.to === NO_RESPONSE) return;
      const placed = place(dial);
      const isLost = dial.to === LOST_RESPONSE;
      return void (isLost ? request.socket.destroy() : reply(202, placed));
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
    receive,
    hangUp: (id: string) => end(id, 'completed'),
    limitOf: (id: string) => calls.get(id)?.call.max_seconds,
    instructionsFor: (id: string) => calls.get(id)?.instructions ?? [],
    async close(): Promise<void> {
      closed = true;
      for (const timer of timers) clearTimeout(timer);
      for (const { socket } of calls.values()) socket?.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
