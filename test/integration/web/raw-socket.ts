import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/** The opcode of a text message (RFC 6455, section 5.2). */
export const TEXT = 0x1;

/** A client's frame with a mask of zeros, which leaves its payload as it is. At most 125 bytes fit into a short header. */
export function maskedFrame(opcode: number, payload = ''): Buffer {
  const bytes = Buffer.from(payload);
  const isShort = bytes.length < 126;
  const length = isShort ? [0x80 | bytes.length] : [0x80 | 126, bytes.length >> 8, bytes.length & 0xff];
  return Buffer.concat([Buffer.from([0x80 | opcode, ...length, 0, 0, 0, 0]), bytes]);
}

/** Opens a WebSocket by hand, because the ws library answers a close, and a hostile client does not. */
export async function openRaw(url: string): Promise<Socket> {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  const key = randomBytes(16).toString('base64');
  socket.write(
    `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  );
  await new Promise<void>((resolve) => socket.once('data', () => resolve()));
  socket.resume();
  return socket;
}
