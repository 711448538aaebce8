import { WebSocket } from 'ws';
import { sign } from '../../../src/telephony/twilio/signature.js';
import { startEvent } from '../../integration/voice/support/carrier-line.js';

export interface CarrierOrder {
  port: number;
  calls: { callId: string; carrierSid: string; streamSid: string }[];
  authToken: string;
  streamUrl: string;
}

/** What all lines together saw since the last question. */
export interface CarrierFigures {
  framesSent: number;
  framesReceived: number;
  /** How late each frame came, measured against its line's own beat of 20 ms, ms. */
  latenessMs: number[];
  /** Lines whose socket is not open any more. */
  lost: number;
}

const FRAME_MS = 20;
/** A carrier plays what it gets this much later, and then echoes the mark. */
const PLAYS_AFTER_MS = 340;
const AT_ONCE = 10;

interface Line {
  socket: WebSocket;
  streamSid: string;
  dueAt: number;
  chunk: number;
  arrivals: number[];
}

const lines: Line[] = [];
const frame = Buffer.alloc(160, 0x55);
let framesSent = 0;

function send(line: Line): void {
  frame.writeBigUInt64LE(process.hrtime.bigint());
  const { streamSid } = line;
  const number = ++line.chunk;
  line.socket.send(
    `{"event":"media","sequenceNumber":"${number + 1}","media":{"track":"inbound","chunk":"${number}","timestamp":"${
      (number - 1) * FRAME_MS
    }","payload":"${frame.toString('base64')}"},"streamSid":"${streamSid}"}`,
  );
  framesSent++;
}

/** The lines' beats are spread evenly over 20 ms, as those of calls that begin at different times. */
function beat(): void {
  const now = performance.now();
  for (const line of lines) {
    for (; line.dueAt <= now; line.dueAt += FRAME_MS) if (line.socket.readyState === WebSocket.OPEN) send(line);
  }
  setTimeout(beat, 1);
}

/** Several dial in at once, as many as a busy server sees. */
async function open(order: CarrierOrder): Promise<void> {
  const left = [...order.calls];
  const worker = async () => {
    for (let call = left.shift(); call !== undefined; call = left.shift()) await dialIn(order, call);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function dialIn(order: CarrierOrder, call: CarrierOrder['calls'][number]): Promise<void> {
  const { port, authToken, streamUrl } = order;
  const { callId, carrierSid, streamSid } = call;
  const signature = sign({ authToken, url: `${streamUrl}/${callId}`, params: {} });
  const socket = new WebSocket(`ws://127.0.0.1:${port}/stream/${callId}`, {
    headers: { 'x-twilio-signature': signature },
    perMessageDeflate: false,
  });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const line: Line = { socket, streamSid, dueAt: 0, chunk: 0, arrivals: [] };
  socket.on('message', (data: Buffer) => receive(line, data));
  socket.send(startEvent(carrierSid, streamSid));
  line.dueAt = performance.now() + (lines.length % FRAME_MS);
  lines.push(line);
}

function receive(line: Line, data: Buffer): void {
  const now = performance.now();
  const text = data.toString('latin1');
  if (text.startsWith('{"event":"media"')) line.arrivals.push(now);
  else if (text.startsWith('{"event":"mark"')) setTimeout(() => line.socket.send(text), PLAYS_AFTER_MS);
}

/** The beat of a line is that of its most punctual frame. */
function latenessOf(arrivals: readonly number[]): number[] {
  const offsets = arrivals.map((at, i) => at - i * FRAME_MS);
  const beat = offsets.reduce((least, offset) => Math.min(least, offset), Infinity);
  return offsets.map((offset) => offset - beat);
}

function figures(): CarrierFigures {
  const result = {
    framesSent,
    framesReceived: lines.reduce((sum, { arrivals }) => sum + arrivals.length, 0),
    latenessMs: lines.flatMap(({ arrivals }) => latenessOf(arrivals)),
    lost: lines.filter(({ socket }) => socket.readyState !== WebSocket.OPEN).length,
  };
  forget();
  return result;
}

function forget(): void {
  framesSent = 0;
  for (const line of lines) line.arrivals = [];
}

process.on('message', (message: CarrierOrder | 'from now on' | 'figures') => {
  if (message === 'figures') process.send?.(figures());
  else if (message === 'from now on') {
    // Without the figures so far: to tell all of them takes so long that the lines would miss a beat.
    forget();
    process.send?.('forgotten');
  } else void open(message).then(() => process.send?.('open'));
});
process.on('disconnect', () => process.exit());
beat();
process.send?.('ready');
