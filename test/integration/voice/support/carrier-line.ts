import { WebSocket } from 'ws';
import { MULAW_SILENCE } from '../../../../src/voice/audio/mulaw.js';
import { sign } from '../../../../src/telephony/twilio/signature.js';

export const FRAME_MS = 20;
const SILENCE = new Uint8Array(160).fill(MULAW_SILENCE);

export interface LineOptions {
  port: number;
  callId: string;
  carrierSid: string;
  authToken: string;
  /** The URL of the stream. The carrier's signature covers it. */
  streamUrl: string;
  signature?: string;
}

/** Opens the media socket as a carrier does; rejects with the HTTP status if the upgrade is rejected. */
export async function dialIn(options: LineOptions): Promise<WebSocket> {
  const { port, callId, authToken, streamUrl } = options;
  const signature = options.signature ?? sign({ authToken, url: `${streamUrl}/${callId}`, params: {} });
  const socket = new WebSocket(`ws://127.0.0.1:${port}/stream/${callId}`, {
    headers: signature === '' ? {} : { 'x-twilio-signature': signature },
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
    socket.once('unexpected-response', (_, response) => {
      response.resume();
      reject(new Error(`refused with ${response.statusCode}`));
    });
  });
  return socket;
}

export function startEvent(carrierSid: string, streamSid: string, resumption?: number | string): string {
  return JSON.stringify({
    event: 'start',
    sequenceNumber: '1',
    start: {
      accountSid: 'AC00000000000000000000000000000001',
      streamSid,
      callSid: carrierSid,
      tracks: ['inbound'],
      mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
      customParameters: resumption === undefined ? {} : { resumption: String(resumption) },
    },
    streamSid,
  });
}

export type CarrierLine = ReturnType<typeof openLine>;

/**
 * A phone line as a carrier implements it. It sends a frame every 20 ms and plays received audio in real time. It
 * returns a mark when the audio before the mark was played, and returns all pending marks on a clear.
 */
export function openLine(socket: WebSocket, carrierSid: string, streamSid: string, resumption?: number) {
  const startedAt = performance.now();
  const buffer: ({ frame: Buffer } | { mark: string })[] = [];
  const speech: Uint8Array[] = [];
  const events: string[] = [];
  const heard: Buffer[] = [];
  const line = {
    socket,
    startedAt,
    /** The names of all events that the service sent, in order. */
    events,
    /** Every frame that the line has played, without silence. */
    heard,
    frameSizes: new Set<number>(),
    marksEchoed: 0,
    framesCleared: 0,
    /** The largest amount of audio that was queued at any time, in ms. */
    mostAheadMs: 0,
    firstAudioMs: undefined as number | undefined,
    closed: new Promise<number>((resolve) => socket.once('close', resolve)),
    isPlaying: () => buffer.length > 0,
    /** Whether the line sends no frames while the caller is silent. Its timestamps continue. */
    omitsSilence: false,
    /** A number that is added to the timestamps from now on. */
    timestampsJumpMs: 0,
    /** Sends nothing for this long, and then all frames at once. */
    holdBack(ms: number): void {
      heldUntilMs = performance.now() + ms;
    },
    /** Queues the caller's speech, 8 kHz mu-law. */
    say(mulaw: Uint8Array): void {
      for (let at = 0; at < mulaw.length; at += 160) {
        const frame = new Uint8Array(SILENCE);
        frame.set(mulaw.subarray(at, at + 160));
        speech.push(frame);
      }
    },
    hangUp(): void {
      clearInterval(ticking);
      send({ event: 'stop', sequenceNumber: '9', stop: { callSid: carrierSid }, streamSid });
      socket.close(1000);
    },
    stopFrames: () => clearInterval(ticking),
    /** Stops sending, as if the line were broken but not closed: no audio and no pong. */
    fallSilent(): void {
      clearInterval(ticking);
      socket.pause();
    },
    /** Breaks the connection without a closing handshake. */
    break(): void {
      clearInterval(ticking);
      socket.terminate();
    },
  };

  let heldUntilMs = 0;
  const held: object[] = [];
  const sendFrame = (message: object) => {
    held.push(message);
    if (performance.now() >= heldUntilMs) for (const each of held.splice(0)) send(each);
  };
  const send = (message: object) => socket.readyState === socket.OPEN && socket.send(JSON.stringify(message));
  const echo = (name: string) => {
    line.marksEchoed += 1;
    send({ event: 'mark', streamSid, mark: { name } });
  };
  const echoReached = () => {
    for (let head = buffer[0]; head !== undefined && 'mark' in head; head = buffer[0]) {
      buffer.shift();
      echo(head.mark);
    }
  };

  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString('utf8')) as {
      event: string;
      media?: { payload: string };
      mark?: { name: string };
    };
    events.push(message.event);
    if (message.media) {
      line.firstAudioMs ??= performance.now() - startedAt;
      const frame = Buffer.from(message.media.payload, 'base64');
      line.frameSizes.add(frame.length);
      buffer.push({ frame });
      line.mostAheadMs = Math.max(line.mostAheadMs, buffer.filter((item) => 'frame' in item).length * FRAME_MS);
    } else if (message.mark) {
      buffer.push({ mark: message.mark.name });
      echoReached();
    } else if (message.event === 'clear') {
      for (const item of buffer.splice(0)) {
        if ('mark' in item) echo(item.mark);
        else line.framesCleared += 1;
      }
    }
  });

  let frames = 0;
  const ticking = setInterval(() => {
    if (socket.readyState !== socket.OPEN) return clearInterval(ticking);
    for (; frames * FRAME_MS <= performance.now() - startedAt; frames++) {
      const words = speech.shift();
      const payload = Buffer.from(words ?? SILENCE).toString('base64');
      const timestamp = String(frames * FRAME_MS + line.timestampsJumpMs);
      const media = { track: 'inbound', chunk: String(frames + 1), timestamp, payload };
      if (words !== undefined || !line.omitsSilence)
        sendFrame({ event: 'media', sequenceNumber: String(frames + 2), media, streamSid });
      const playing = buffer.shift();
      if (playing !== undefined && 'frame' in playing) heard.push(playing.frame);
      echoReached();
    }
  }, 10);

  send({ event: 'connected', protocol: 'Call', version: '1.0.0' });
  socket.send(startEvent(carrierSid, streamSid, resumption));
  return line;
}
