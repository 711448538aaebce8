import { connect } from 'node:net';

/** One or more HTTP/1.1 requests as raw bytes. */
export interface HostileRequest {
  name: string;
  bytes: Buffer;
}

/** Headers of a POST from our own portal, whose body is parsed before authentication. */
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

/** A Content-Type whose charset is all blanks, with an ending that makes a backtracking parser slow. */
export function blankCharset(blanks = 7_000): string {
  return `application/json; charset=${' '.repeat(blanks)}"x"y`;
}

/** A login request with that Content-Type. */
export function blankCharsetRequest(blanks?: number): HostileRequest {
  const headers = { ...OWN_PAGE, 'Content-Type': blankCharset(blanks) };
  return {
    name: 'a Content-Type of blanks',
    bytes: rawRequest({ method: 'POST', path: '/portal/log-in', headers, body: '{}' }),
  };
}

/** A form with as many different names as fit in 64 KiB. A parser that searches all for each needs quadratic time. */
export function formOfNames(count = 13_000): string {
  return Array.from({ length: count }, (_, i) => i.toString(36)).join('&');
}

/** A status callback with that form and an invalid signature. */
export function formOfNamesRequest(): HostileRequest {
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded', 'X-Twilio-Signature': `${'A'.repeat(27)}=` };
  return {
    name: 'a form of thousands of fields',
    bytes: rawRequest({ method: 'POST', path: '/carrier/status', headers, body: formOfNames() }),
  };
}

/** Many pipelined requests for the same path. */
export function pipelinedRequests(path = '/openapi.json', count = 1_000): HostileRequest {
  const one = rawRequest({ path });
  return { name: `${count} requests for ${path} on one socket`, bytes: Buffer.concat(Array(count).fill(one)) };
}

/** Many requests of minimal length: 2,600 of them fit in 64 KiB. */
export function shortestRequests(count: number): HostileRequest {
  return {
    name: `${count} short requests on one socket`,
    bytes: Buffer.from('GET / HTTP/1.1\r\nHost:\r\n\r\n'.repeat(count)),
  };
}

/**
 * Sends bytes on a new connection and waits until the server closes it, for at most `forMs`.
 * @param options.read false for a client that never reads the response
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
    // Ignore errors: the server may reset the connection.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(received);
    });
  });
}

/**
 * Sends bytes on a new connection, waits at most 10 s for the first data of the response, and closes the connection.
 * @returns the data received until then, as latin1
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
