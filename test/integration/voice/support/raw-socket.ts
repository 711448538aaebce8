import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { sign } from '../../../../src/telephony/twilio/signature.js';
import type { LineOptions } from './carrier-line';

export const OPCODE = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const;

export interface FrameOptions {
  fin?: boolean;
  /** The frame's three reserved bits as a number from 0 to 7. */
  reserved?: number;
  isMasked?: boolean;
  /** The length that the header announces, if it differs from the payload's length. */
  announcedLength?: bigint;
}

/** Builds one frame with a mask, which the protocol requires of clients. */
export function frame(opcode: number, payload: Buffer | string = '', options: FrameOptions = {}): Buffer {
  const { fin = true, reserved = 0, isMasked = true } = options;
  const data = Buffer.from(payload);
  const length = options.announcedLength ?? BigInt(data.length);
  const first = (fin ? 0x80 : 0) | (reserved << 4) | opcode;
  const maskBit = isMasked ? 0x80 : 0;
  const header =
    length < 126n
      ? Buffer.from([first, maskBit | Number(length)])
      : length < 65_536n
        ? Buffer.from([first, maskBit | 126, 0, 0])
        : Buffer.from([first, maskBit | 127, 0, 0, 0, 0, 0, 0, 0, 0]);
  if (header.length === 4) header.writeUInt16BE(Number(length), 2);
  if (header.length === 10) header.writeBigUInt64BE(length, 2);
  if (!isMasked) return Buffer.concat([header, data]);
  const mask = randomBytes(4);
  return Buffer.concat([header, mask, data.map((byte, i) => byte ^ (mask[i % 4] ?? 0))]);
}

/** Builds the payload of a close frame. */
export function closing(code: number, reason: Buffer | string = ''): Buffer {
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  return Buffer.concat([payload, Buffer.from(reason)]);
}

/**
 * How the server ended the connection: by a close frame, or without one. The code is 1005 if the close frame has none.
 */
export type Ending = { code: number; reason: string } | 'no close frame';

export interface RawSocket {
  readonly socket: Socket;
  /** Status line and headers of the response to the upgrade. */
  readonly head: string;
  /** Payloads of the pongs so far. */
  readonly pongs: string[];
  /** Opcodes of everything the server sent, in order. */
  readonly opcodes: number[];
  /** The server's close frame; resolves after TCP is closed as well. */
  readonly ended: Promise<Ending>;
  /** Writes the bytes in packets of `piece` bytes each. */
  write(bytes: Buffer, piece?: number): Promise<void>;
  destroy(): void;
}

/**
 * A websocket client that can break every rule.
 * @param headers replace those of a valid upgrade; empty ones are omitted
 */
export async function openRaw(options: LineOptions, headers: Record<string, string> = {}): Promise<RawSocket> {
  const { port, callId, authToken, streamUrl } = options;
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const path = `/stream/${callId}`;
  const all = {
    Host: `127.0.0.1:${port}`,
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
    'X-Twilio-Signature': sign({ authToken, url: `${streamUrl}/${callId}`, params: {} }),
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === '' ? [] : [`${name}: ${value}`]));
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);

  const pongs: string[] = [];
  const opcodes: number[] = [];
  let received = Buffer.alloc(0);
  let head: string | undefined;
  let ending: Ending = 'no close frame';

  function readFrames(): void {
    for (;;) {
      const [first, second] = received;
      if (first === undefined || second === undefined) return;
      const short = second & 0x7f;
      const start = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (received.length < start) return;
      const length =
        short < 126 ? short : short === 126 ? received.readUInt16BE(2) : Number(received.readBigUInt64BE(2));
      if (received.length < start + length) return;
      onFrame(first & 0x0f, received.subarray(start, start + length));
      received = received.subarray(start + length);
    }
  }

  function onFrame(opcode: number, payload: Buffer): void {
    opcodes.push(opcode);
    if (opcode === OPCODE.pong) pongs.push(payload.toString('latin1'));
    if (opcode !== OPCODE.close) return;
    const code = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
    ending = { code, reason: payload.subarray(2).toString('utf8') };
    if (socket.writable) socket.write(frame(OPCODE.close, payload.subarray(0, 2)));
  }

  const ended = new Promise<Ending>((resolve) => socket.once('close', () => resolve(ending)));
  socket.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    socket.once('close', () => reject(new Error('closed before the answer to the upgrade')));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (head === undefined) {
        const end = received.indexOf('\r\n\r\n');
        if (end < 0) return;
        head = received.subarray(0, end).toString('latin1');
        received = received.subarray(end + 4);
        resolve();
      }
      if (head.startsWith('HTTP/1.1 101')) readFrames();
    });
  });

  return {
    socket,
    head: head ?? '',
    pongs,
    opcodes,
    ended,
    async write(bytes, piece = bytes.length) {
      for (let at = 0; at < bytes.length && socket.writable; at += piece) {
        socket.write(bytes.subarray(at, at + piece));
        // Yields to the event loop, so that the system does not join the packets.
        if (piece < bytes.length) await new Promise(setImmediate);
      }
    },
    destroy: () => socket.destroy(),
  };
}
