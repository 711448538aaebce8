import { once } from 'node:events';
import { WebSocket, type ClientOptions } from 'ws';

/** A message of the service to a browser. */
export interface BrowserMessage {
  event: 'ready' | 'media' | 'mark' | 'clear' | 'reconnect_token' | 'ended';
  call_id?: string;
  reconnect_token?: string;
  token?: string;
  name?: string;
  payload?: string;
  reason?: string;
}

export type BrowserLine = Awaited<ReturnType<typeof openBrowserLine>>;

/**
 * Opens a call's WebSocket as a browser does, and sends the token.
 * @param p.origin the page's origin; by default none, as a client that is not a browser
 * @param p.isMute if true, marks are not answered
 * @param p.isDeaf if true, pings are not answered, as if neither they nor any message had arrived
 */
export async function openBrowserLine(p: {
  url: string;
  token?: string;
  origin?: string;
  isMute?: boolean;
  isDeaf?: boolean;
}) {
  const { origin, isDeaf = false } = p;
  // The types lack `autoPong`.
  const options: ClientOptions & { autoPong: boolean } = { autoPong: !isDeaf, ...(origin !== undefined && { origin }) };
  const socket = new WebSocket(p.url, options);
  const messages: BrowserMessage[] = [];
  const waiting = new Set<() => void>();
  let closeCode: number | undefined;
  let frames: NodeJS.Timeout | undefined;
  const startedAt = Date.now();
  const say = (message: object) => socket.send(JSON.stringify(message));

  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString('utf8')) as BrowserMessage;
    messages.push(message);
    if (message.event === 'mark' && p.isMute !== true) say({ event: 'mark', name: message.name });
    for (const look of waiting) look();
  });
  socket.on('error', () => undefined);
  socket.on('close', (code) => {
    clearInterval(frames);
    closeCode = code;
    for (const look of waiting) look();
  });
  await once(socket, 'open', { signal: AbortSignal.timeout(10_000) });
  if (p.token !== undefined) say({ event: 'start', token: p.token });

  async function until<T>(what: string, look: () => T | undefined): Promise<T> {
    const found = look();
    if (found !== undefined) return found;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(again);
        reject(new Error(`${what} did not come; there was ${JSON.stringify(messages.map(({ event }) => event))}`));
      }, 20_000);
      function again(): void {
        const result = look();
        if (result === undefined) return;
        clearTimeout(timer);
        waiting.delete(again);
        resolve(result);
      }
      waiting.add(again);
    });
  }

  return {
    messages,
    say,
    sayRaw: (data: string | Buffer, binary = false) => socket.send(data, { binary }),
    pong: () => socket.pong(),

    /** Sends silence in real time, as a microphone does. */
    speak(): void {
      const payload = Buffer.alloc(160, 0xff).toString('base64');
      frames = setInterval(() => say({ event: 'media', timestamp: Date.now() - startedAt, payload }), 20);
    },

    ready: () => until('ready', () => messages.find(({ event }) => event === 'ready')),
    next: (event: BrowserMessage['event']) => until(event, () => messages.find((message) => message.event === event)),

    /** Resolves with the reason and the close code when the service has closed the socket. */
    async closed(): Promise<{ reason: string | undefined; code: number }> {
      const code = await until('a close', () => closeCode);
      return { reason: messages.find(({ event }) => event === 'ended')?.reason, code };
    },

    /** The newest token for the next socket. */
    reconnectToken(): string {
      const tokens = messages.flatMap(({ reconnect_token: first, token }) => first ?? token ?? []);
      return tokens.at(-1) ?? '';
    },

    /** Closes the page. */
    closeTab: () => socket.close(1001),

    /** Breaks the connection without a closing handshake. */
    break: () => socket.terminate(),
  };
}
