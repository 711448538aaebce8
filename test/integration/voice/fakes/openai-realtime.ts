import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import type { ScriptedTurn } from '../engine-contract';
import { completionOf } from './chat-completions';
import { chatRejection, realtimeModelFault } from './openai-models';
import { openSession } from './openai-realtime-session';
import type { Nastiness } from './openai-realtime-events';
import type { FakeSession } from './openai-realtime-session';
import { answerOpenAiLists, fakeLists } from './provider-lists';

export type FakeRealtime = Awaited<ReturnType<typeof startFakeRealtime>>;

/**
 * OpenAI's realtime API on loopback, with the messages of its GA protocol. It detects speech by loudness, creates one
 * response at a time from a script, and answers invalid events as OpenAI does. Its chat completions summarize calls.
 */
export async function startFakeRealtime(options: Partial<Nastiness> = {}) {
  const nasty: Nastiness = {
    refuseUpgrades: { status: 429, times: 0 },
    upgradeMs: 0,
    hangs: false,
    stallMs: 0,
    closeAfterDeltas: undefined,
    speed: 4,
    refusesTruncation: false,
    missesTurnEnds: false,
    failResponses: 0,
    failBeforeCreated: 0,
    emptyResponses: 0,
    splitsItems: false,
    failsCancelled: false,
    lateTranscripts: false,
    refusesTranscription: undefined,
    ...options,
  };
  const sessions: FakeSession[] = [];
  const conclusions: { body: string; authorization: string | undefined }[] = [];
  const timers = new Set<NodeJS.Timeout>();
  const upgrading = new Set<Duplex>();
  let script: ScriptedTurn[] = [];
  let conclusion: (body: string) => { status: number; text: string; breaksOff?: boolean } = () => ({
    status: 200,
    text: chatAnswer({ summary: 'The appointment was talked about.', values: {} }),
  });
  let upgrades = 0;
  const lists = fakeLists('test-key', ['gpt-realtime', 'gpt-4o-mini-transcribe', 'gpt-4.1-mini']);

  const http = createServer(answer);
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });

  function answer(request: IncomingMessage, response: ServerResponse): void {
    if (!nasty.hangs && answerOpenAiLists(request, response, lists)) return;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (nasty.hangs) return;
      const body = Buffer.concat(chunks).toString('utf8');
      conclusions.push({ body, authorization: request.headers.authorization });
      const { status, text, breaksOff } = conclusionOf(request, body);
      response.writeHead(status, { 'content-type': 'application/json' });
      if (breaksOff) response.write(text.slice(0, 20), () => response.destroy());
      else response.end(text);
    });
  }

  function conclusionOf({ url }: IncomingMessage, body: string): ReturnType<typeof conclusion> {
    if (url !== '/v1/chat/completions') return { status: 404, text: '{"error":{}}' };
    const rejection = chatRejection(JSON.parse(body) as Record<string, unknown>);
    if (rejection === undefined) return conclusion(body);
    return { status: rejection.status, text: JSON.stringify({ error: rejection.error }) };
  }

  http.on('upgrade', (request, socket, head) => {
    upgrades += 1;
    socket.on('error', () => socket.destroy());
    const refused = request.headers.authorization === 'Bearer test-key' ? undefined : 401;
    const nastily = nasty.refuseUpgrades.times-- > 0 ? nasty.refuseUpgrades.status : undefined;
    const status = refused ?? nastily;
    const beta = request.headers['openai-beta'] !== undefined;
    if (status !== undefined || beta || !request.url?.startsWith('/v1/realtime?model=')) {
      socket.end(`HTTP/1.1 ${status ?? 400} No\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    upgrading.add(socket);
    later(() => {
      upgrading.delete(socket);
      sockets.handleUpgrade(request, socket, head, (webSocket) => open(webSocket, request));
    }, nasty.upgradeMs);
  });

  function later(act: () => void, ms: number): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      act();
    }, ms);
    timers.add(timer);
  }

  function open(socket: WebSocket, { url = '' }: IncomingMessage): void {
    const model = new URL(url, 'ws://fake').searchParams.get('model') ?? '';
    const fault = realtimeModelFault(model);
    if (fault !== undefined) {
      const error = { type: 'invalid_request_error', ...fault, param: null, event_id: null };
      socket.send(JSON.stringify({ type: 'error', event_id: 'event_1', error }));
      return socket.close(4000, `invalid_request_error.${fault.code}`);
    }
    const turns = script;
    script = [];
    sessions.push(openSession({ socket, model, turns, nasty, later }));
  }

  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;

  return {
    nasty,
    sessions,
    conclusions,
    lists,
    baseUrl: `http://127.0.0.1:${port}/v1`,
    upgrades: () => upgrades,
    /** Sets the responses to the caller's turns of the next session. */
    script: (turns: readonly ScriptedTurn[]) => void (script = [...turns]),
    concludeBy: (by: typeof conclusion) => void (conclusion = by),
    /** Breaks all connections and rejects new ones from now on. */
    kill(): void {
      nasty.refuseUpgrades = { status: 503, times: 1_000 };
      for (const { socket } of sessions) socket.terminate();
    },
    async close(): Promise<void> {
      for (const timer of timers) clearTimeout(timer);
      for (const { socket } of sessions) socket.terminate();
      // These sockets are not read, so the server would not notice that the client has closed them, and never close.
      for (const socket of upgrading) socket.destroy();
      http.closeAllConnections();
      await new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}

/** Builds a chat completion whose content is `value`. */
export function chatAnswer(value: unknown): string {
  const usage = { prompt_tokens: 120, completion_tokens: 30, prompt_tokens_details: { cached_tokens: 20 } };
  return JSON.stringify(completionOf(JSON.stringify(value), usage));
}
