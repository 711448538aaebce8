import { connect } from 'node:net';

/** One or more HTTP/1.1 requests as raw bytes. */
export interface HostileRequest {
  name: string;
  bytes: Buffer;
}

/**
 * The headers of a POST from a page of the portal. The service parses the body of such a request before authentication.
 */
const OWN_PAGE = { Origin: 'https://calls.test', 'Sec-Fetch-Site': 'same-origin' };

/** @param p.headers headers in addition to Host and Content-Length */
export function rawRequest(p: {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}): Buffer {
  const body = Buffer.from(p.body ?? '');
  const headers = { Host: 'calls.test', ...p.headers, ...(body.length > 0 ? { 'Content-Length': body.length } : {}) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = `${p.method ?? 'GET'} ${p.path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

/** Builds a Content-Type whose charset consists of blanks. Its ending makes a backtracking parser slow. */
export function blankCharset(blanks = 7_000): string {
  return `application/json; charset=${' '.repeat(blanks)}"x"y`;
}

/** Builds a login request with the Content-Type of `blankCharset`. */
export function blankCharsetRequest(blanks?: number): HostileRequest {
  const headers = { ...OWN_PAGE, 'Content-Type': blankCharset(blanks) };
  return {
    name: 'a Content-Type of blanks',
    bytes: rawRequest({ method: 'POST', path: '/portal/log-in', headers, body: '{}' }),
  };
}

/**
 * Builds a form with as many different names as fit in 64 KiB. A parser that searches all earlier names for each name
 * needs quadratic time.
 */
export function formOfNames(count = 13_000): string {
  return Array.from({ length: count }, (_, i) => i.toString(36)).join('&');
}

/** Builds a status callback with the form of `formOfNames` and an invalid signature. */
export function formOfNamesRequest(): HostileRequest {
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded', 'X-Twilio-Signature': `${'A'.repeat(27)}=` };
  return {
    name: 'a form of thousands of fields',
    bytes: rawRequest({ method: 'POST', path: '/carrier/status', headers, body: formOfNames() }),
  };
}

/** Builds many pipelined requests for the same path. */
export function pipelinedRequests(path = '/openapi.json', count = 1_000): HostileRequest {
  const one = rawRequest({ path });
  return { name: `${count} requests for ${path} on one socket`, bytes: Buffer.concat(Array(count).fill(one)) };
}

/** Builds many requests of minimal length. 64 KiB hold 2,600 of them. */
export function shortestRequests(count: number): HostileRequest {
  return {
    name: `${count} short requests on one socket`,
    bytes: Buffer.from('GET / HTTP/1.1\r\nHost:\r\n\r\n'.repeat(count)),
  };
}

/**
 * Builds a POST whose body consists of chunks of one byte. Each chunk takes six bytes and costs the server as much as a
 * large one.
 * @param p.isComplete whether the last chunk is sent; otherwise the server waits for more
 */
export function tinyChunksRequest(p: {
  path: string;
  headers?: Record<string, string>;
  count?: number;
  isComplete?: boolean;
}): HostileRequest {
  const { path, count = 60_000, isComplete = true } = p;
  const head = rawRequest({ method: 'POST', path, headers: { ...p.headers, 'Transfer-Encoding': 'chunked' } });
  const chunks = `${'1\r\na\r\n'.repeat(count)}${isComplete ? '0\r\n\r\n' : ''}`;
  return { name: `${count} chunks of one byte`, bytes: Buffer.concat([head, Buffer.from(chunks)]) };
}

/**
 * Sends bytes on a new connection and waits until the server closes it, for at most `forMs`.
 * @param options.read if false, the client never reads the response
 * @returns the data received, as latin1
 */
export function sendBytes(
  port: number,
  bytes: Buffer,
  options: { read?: boolean; forMs?: number } = {},
): Promise<string> {
  const { read = true, forMs = 10_000 } = options;
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    const timer = setTimeout(() => socket.destroy(), forMs);
    if (read) socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    else socket.pause();
    // Ignores errors, because the server may reset the connection.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(received);
    });
  });
}

/**
 * Sends bytes on a new connection and waits for the first data of the response, for at most 10 s. Then closes the
 * connection.
 * @returns the data received by then, as latin1
 */
export function firstResponse(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    const end = (received: string) => {
      clearTimeout(timer);
      resolve(received);
      socket.destroy();
    };
    const timer = setTimeout(() => end(''), 10_000);
    socket.once('data', (chunk: Buffer) => end(chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => end(''));
  });
}
