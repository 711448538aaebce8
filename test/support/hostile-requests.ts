import { connect } from 'node:net';

/** One HTTP/1.1 request, or several in a row, as the bytes that go over the wire. */
export interface HostileRequest {
  name: string;
  bytes: Buffer;
}

/** A POST of a page of our own, whose body is parsed before anybody is authenticated. */
const OWN_PAGE = { Origin: 'https://calls.test', 'Sec-Fetch-Site': 'same-origin' };

/** @param headers sent besides Host and Content-Length */
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

/** A Content-Type with a charset of nothing but blanks, and what a backtracking parser tries to end it with. */
export function blankCharset(blanks = 7_000): string {
  return `application/json; charset=${' '.repeat(blanks)}"x"y`;
}

/** A log-in with that Content-Type. */
export function blankCharsetRequest(blanks?: number): HostileRequest {
  const headers = { ...OWN_PAGE, 'Content-Type': blankCharset(blanks) };
  return {
    name: 'a Content-Type of blanks',
    bytes: rawRequest({ method: 'POST', path: '/portal/log-in', headers, body: '{}' }),
  };
}

/** A form of as many different names as 64 KiB hold, which costs a parser the square of that when it looks up each. */
export function formOfNames(count = 13_000): string {
  return Array.from({ length: count }, (_, i) => i.toString(36)).join('&');
}

/** A status callback of that form with a signature that fits nothing. */
export function formOfNamesRequest(): HostileRequest {
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded', 'X-Twilio-Signature': `${'A'.repeat(27)}=` };
  return {
    name: 'a form of thousands of fields',
    bytes: rawRequest({ method: 'POST', path: '/carrier/status', headers, body: formOfNames() }),
  };
}

/** Many requests for the same path in a row, none of which waits for the response of another. */
export function pipelinedRequests(path = '/openapi.json', count = 1_000): HostileRequest {
  const one = rawRequest({ path });
  return { name: `${count} requests for ${path} on one socket`, bytes: Buffer.concat(Array(count).fill(one)) };
}

/** As many requests as fit, of which 64 KiB hold 2,600. */
export function shortestRequests(count: number): HostileRequest {
  return {
    name: `${count} short requests on one socket`,
    bytes: Buffer.from('GET / HTTP/1.1\r\nHost:\r\n\r\n'.repeat(count)),
  };
}

/**
 * Sends bytes on a connection of their own and waits until the server has answered and closed it, or until `forMs` have
 * passed.
 * @param options.read false for a client that never reads what the server answers
 * @returns what was read, as latin1
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
    // A server may well break the connection off.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(received);
    });
  });
}

/**
 * Sends bytes on a connection of their own and waits, at most 10 s, for the first of the answer. The connection is then
 * broken off.
 * @returns what was read until then, as latin1
 */
export function firstAnswer(port: number, bytes: Buffer): Promise<string> {
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
