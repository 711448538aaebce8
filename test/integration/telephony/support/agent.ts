import type { WebSocket } from 'ws';
import { decodeMulaw, encodeMulaw } from '../../../../src/voice/audio/mulaw.js';

export interface StreamMessage {
  event: string;
  streamSid?: string;
  sequenceNumber?: string;
  start?: Record<string, unknown> & { callSid: string; customParameters: Record<string, string> };
  media?: { payload: string; chunk: string; timestamp: string; track: string };
  mark?: { name: string };
  dtmf?: { track: string; digit: string };
  at: number;
}

/** A loud tone. A callee takes it for speech, because callees measure only the energy of the audio. */
export function tone(ms: number): Uint8Array {
  const samples = Int16Array.from({ length: ms * 8 }, (_, i) =>
    Math.round(8_000 * Math.sin((2 * Math.PI * 300 * i) / 8_000)),
  );
  return encodeMulaw(samples);
}

/** The customer's end of one stream. It keeps all messages that the carrier sends. */
export function openAgent(socket: WebSocket) {
  const messages: StreamMessage[] = [];
  const waiting: { wanted: (message: StreamMessage) => boolean; resolve: (message: StreamMessage) => void }[] = [];
  let streamSid = '';
  socket.on('message', (data: Buffer) => {
    const message = { ...(JSON.parse(data.toString('utf8')) as StreamMessage), at: performance.now() };
    if (message.event === 'start') streamSid = message.streamSid ?? '';
    messages.push(message);
    for (const entry of waiting.filter(({ wanted }) => wanted(message))) {
      waiting.splice(waiting.indexOf(entry), 1);
      entry.resolve(message);
    }
  });
  let pongs = 0;
  socket.on('pong', () => pongs++);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return {
    messages,
    closed,
    next: (wanted: (message: StreamMessage) => boolean) =>
      new Promise<StreamMessage>((resolve) => waiting.push({ wanted, resolve })),
    media(audio: Uint8Array) {
      socket.send(
        JSON.stringify({ event: 'media', streamSid, media: { payload: Buffer.from(audio).toString('base64') } }),
      );
    },
    mark: (name: string) => socket.send(JSON.stringify({ event: 'mark', streamSid, mark: { name } })),
    clear: () => socket.send(JSON.stringify({ event: 'clear', streamSid })),
    close: () => socket.close(),
    ping: () => socket.ping(),
    isOpen: () => socket.readyState === socket.OPEN,
    pongs: () => pongs,
    /** The close code, or 1006 if the stream ended without a closing handshake. */
    closeCode: new Promise<number>((resolve) => socket.once('close', resolve)),
    /** Seconds of loud audio from the remote party. */
    secondsHeard() {
      const loud = messages.filter(({ media }) => media !== undefined && isLoud(Buffer.from(media.payload, 'base64')));
      return loud.length / 50;
    },
  };
}

export type Agent = ReturnType<typeof openAgent>;

function isLoud(frame: Uint8Array): boolean {
  const pcm = decodeMulaw(frame);
  return Math.sqrt(pcm.reduce((sum, value) => sum + value * value, 0) / pcm.length) > 250;
}
