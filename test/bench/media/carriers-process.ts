import { WebSocket } from 'ws';
import { sign } from '../../../src/telephony/twilio/signature.js';
import { startEvent } from '../../integration/voice/support/carrier-line.js';

export interface CarrierOrder {
  port: number;
  calls: { callId: string; carrierSid: string; streamSid: string }[];
  authToken: string;
  streamUrl: string;
}

/** Totals of all media streams since the last `figures` message. */
export interface CarrierFigures {
  framesSent: number;
  framesReceived: number;
  /** How late each frame was, in ms, compared with the 20 ms grid of its stream. */
  latenessMs: number[];
  /** The number of streams whose socket is closed. */
  lost: number;
}

const FRAME_MS = 20;
/** The simulated carrier plays received audio this much later, and then returns the mark. */
const PLAYS_AFTER_MS = 340;
const AT_ONCE = 10;

interface OpenStream {
  socket: WebSocket;
  streamSid: string;
  dueAt: number;
  chunk: number;
  arrivals: number[];
}

const streams: OpenStream[] = [];
const frame = Buffer.alloc(160, 0x55);
let framesSent = 0;

function send(stream: OpenStream): void {
  frame.writeBigUInt64LE(process.hrtime.bigint());
  const { streamSid } = stream;
  const number = ++stream.chunk;
  stream.socket.send(
    `{"event":"media","sequenceNumber":"${number + 1}","media":{"track":"inbound","chunk":"${number}","timestamp":"${
      (number - 1) * FRAME_MS
    }","payload":"${frame.toString('base64')}"},"streamSid":"${streamSid}"}`,
  );
  framesSent++;
}

/**
 * Sends the frames that are due. The streams are spread evenly over 20 ms, like calls that began at different times.
 */
function sendDueFrames(): void {
  const now = performance.now();
  for (const stream of streams) {
    for (; stream.dueAt <= now; stream.dueAt += FRAME_MS) if (stream.socket.readyState === WebSocket.OPEN) send(stream);
  }
  setTimeout(sendDueFrames, 1);
}

/** Opens several streams at the same time, as many as a busy server has to open. */
async function open(order: CarrierOrder): Promise<void> {
  const left = [...order.calls];
  const worker = async () => {
    for (let call = left.shift(); call !== undefined; call = left.shift()) await openStream(order, call);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function openStream(order: CarrierOrder, call: CarrierOrder['calls'][number]): Promise<void> {
  const { port, authToken, streamUrl } = order;
  const { callId, carrierSid, streamSid } = call;
  const signature = sign({ authToken, url: `${streamUrl}/${callId}`, params: {} });
  const socket = new WebSocket(`ws://127.0.0.1:${port}/stream/${callId}`, {
    headers: { 'x-twilio-signature': signature },
    perMessageDeflate: false,
  });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const stream: OpenStream = { socket, streamSid, dueAt: 0, chunk: 0, arrivals: [] };
  socket.on('message', (data: Buffer) => receive(stream, data));
  socket.send(startEvent(carrierSid, streamSid));
  stream.dueAt = performance.now() + (streams.length % FRAME_MS);
  streams.push(stream);
}

function receive(stream: OpenStream, data: Buffer): void {
  const now = performance.now();
  const text = data.toString('latin1');
  if (text.startsWith('{"event":"media"')) stream.arrivals.push(now);
  else if (text.startsWith('{"event":"mark"')) setTimeout(() => stream.socket.send(text), PLAYS_AFTER_MS);
}

/** Measures the lateness of a stream's frames against a 20 ms grid. The frame that is most punctual fixes the grid. */
function latenessOf(arrivals: readonly number[]): number[] {
  const offsets = arrivals.map((at, i) => at - i * FRAME_MS);
  const earliest = offsets.reduce((least, offset) => Math.min(least, offset), Infinity);
  return offsets.map((offset) => offset - earliest);
}

function figures(): CarrierFigures {
  const result = {
    framesSent,
    framesReceived: streams.reduce((sum, { arrivals }) => sum + arrivals.length, 0),
    latenessMs: streams.flatMap(({ arrivals }) => latenessOf(arrivals)),
    lost: streams.filter(({ socket }) => socket.readyState !== WebSocket.OPEN).length,
  };
  resetFigures();
  return result;
}

function resetFigures(): void {
  framesSent = 0;
  for (const stream of streams) stream.arrivals = [];
}

process.on('message', (message: CarrierOrder | 'from now on' | 'figures') => {
  if (message === 'figures') process.send?.(figures());
  else if (message === 'from now on') {
    // Resets the figures without sending them, because serializing all of them would delay frames.
    resetFigures();
    process.send?.('forgotten');
  } else void open(message).then(() => process.send?.('open'));
});
process.on('disconnect', () => process.exit());
sendDueFrames();
process.send?.('ready');
