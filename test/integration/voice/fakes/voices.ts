import type { ServerResponse } from 'node:http';
import type { WebSocket } from 'ws';
import { encodeMulaw } from '../../../../src/voice/audio/mulaw.js';
import { bodyOf, openLoopback, type Loopback } from './loopback';
import { answerElevenLabsLists, answerOpenAiLists, fakeLists, type FakeLists } from './provider-lists';

/** How long one character of speech lasts. */
export const MS_PER_CHARACTER = 50;
const PIECE_MS = 250;

/** A fault that occurs when a certain text is spoken. */
export type VoiceFault =
  | { kind: 'stall' }
  /** The connection breaks after this much audio. */
  | { kind: 'cut'; afterMs: number }
  | { kind: 'garbage'; text: string }
  | { kind: 'status'; status: number; headers?: Record<string, string> };

export interface FakeVoice extends Loopback {
  /** Returns the fault for a text. `refusals` configures rejected websocket upgrades. */
  faultOf: (text: string) => VoiceFault | undefined;
  /** The HTTP statuses with which the next upgrades are rejected. */
  refusals: number[];
  /** The texts that the fake was asked to speak, in order. */
  texts: string[];
  /** The first message of each stream, or the body of each request. */
  openings: Record<string, unknown>[];
  /** Reasons for which messages were rejected. */
  invalid: string[];
  urls: URL[];
  /** How long the fake waits before the first audio of a text. */
  delayMs: number;
  /** Whether each audio chunk comes with its words. */
  alignment: boolean;
  lists: FakeLists;
}

function tone(ms: number, rate: number): Int16Array {
  return Int16Array.from({ length: (ms * rate) / 1_000 }, (_, i) => Math.sin((2 * Math.PI * 440 * i) / rate) * 9_000);
}

function state(loopback: Loopback): FakeVoice {
  return Object.assign(loopback, {
    faultOf: () => undefined,
    refusals: [],
    texts: [],
    openings: [],
    invalid: [],
    urls: [],
    delayMs: 0,
    alignment: true,
    lists: fakeLists('tts-key', ['test-voice-v2_5'], [{ voice_id: 'voice-amber' }, { voice_id: 'voice-default' }]),
  });
}

/** The messages of `stream-input`. `test/provider-types` proves that the official SDK can receive them. */
export type FakeStreamInputAnswer =
  | {
      audio: string;
      alignment: { chars: string[]; charStartTimesMs: number[]; charDurationsMs: number[] } | null;
      normalizedAlignment: null;
      isFinal: null;
    }
  | { audio: null; isFinal: true };

/**
 * Fakes the `stream-input` websocket of ElevenLabs. It speaks each text as a tone of 50 ms per character, and sends all
 * audio of a text immediately.
 */
export async function openFakeElevenLabs(): Promise<FakeVoice> {
  const fake: FakeVoice = state(
    await openLoopback({
      onRequest(request, response) {
        if (!fake.hanging && !answerElevenLabsLists(request, response, fake.lists)) response.writeHead(404).end();
      },
      rejectUpgrade() {
        const status = fake.refusals.shift();
        return status === undefined ? undefined : { status };
      },
      onSocket(socket, request) {
        fake.urls.push(new URL(request.url ?? '', 'ws://fake'));
        let speaking = Promise.resolve();
        socket.on('message', (data: Buffer) => {
          const message = JSON.parse(data.toString('utf8')) as { text: string };
          const { text } = message;
          if (text === ' ') return begin(socket, message);
          if (text === '') speaking = speaking.then(() => finish(socket));
          else speaking = speaking.then(() => speak(socket, text));
        });
      },
    }),
  );

  function begin(socket: WebSocket, message: object): void {
    fake.openings.push({ ...message });
    const reason = openingFault(message);
    if (reason === undefined) return;
    fake.invalid.push(reason);
    socket.send(JSON.stringify({ message: reason, error: 'input_validation_error', code: 1008 }));
    socket.close(1008, 'input_validation_error');
  }

  async function speak(socket: WebSocket, text: string): Promise<void> {
    fake.texts.push(text.trim());
    const fault = fake.faultOf(text.trim());
    if (fake.hanging || fault?.kind === 'stall') return new Promise(() => undefined);
    if (fault?.kind === 'garbage') return socket.send(fault.text);
    await new Promise((resolve) => setTimeout(resolve, fake.delayMs));
    const perPiece = PIECE_MS / MS_PER_CHARACTER;
    for (let at = 0, ms = 0; at < text.length; at += perPiece, ms += PIECE_MS) {
      if (fault?.kind === 'cut' && ms >= fault.afterMs) return socket.close(1011, 'internal');
      const chars = text.slice(at, at + perPiece).split('');
      const audio = Buffer.from(encodeMulaw(tone(chars.length * MS_PER_CHARACTER, 8_000))).toString('base64');
      const charStartTimesMs = chars.map((_, index) => index * MS_PER_CHARACTER);
      const charDurationsMs = chars.map(() => MS_PER_CHARACTER);
      const alignment = fake.alignment ? { chars, charStartTimesMs, charDurationsMs } : null;
      answer(socket, { audio, alignment, normalizedAlignment: null, isFinal: null });
    }
  }

  function finish(socket: WebSocket): void {
    answer(socket, { audio: null, isFinal: true });
    socket.close(1000);
  }

  function answer(socket: WebSocket, message: FakeStreamInputAnswer): void {
    socket.send(JSON.stringify(message));
  }

  return fake;
}

/**
 * The `/audio/speech` route of OpenAI in format `pcm`: 24 kHz audio, in chunks that may end in the middle of a sample.
 */
export async function openFakeOpenAiSpeech(): Promise<FakeVoice> {
  const fake: FakeVoice = state(
    await openLoopback({
      onRequest(request, response) {
        if (!fake.hanging && answerOpenAiLists(request, response, fake.lists)) return;
        fake.urls.push(new URL(request.url ?? '', 'http://fake'));
        void bodyOf(request).then((body) => {
          fake.openings.push(body);
          const reason = speechFault(body);
          if (reason === undefined) return speak(String(body['input']), response);
          fake.invalid.push(reason);
          response.writeHead(400, { 'content-type': 'application/json' });
          return void response.end(JSON.stringify({ error: { message: reason } }));
        });
      },
    }),
  );

  async function speak(text: string, response: ServerResponse): Promise<void> {
    fake.texts.push(text);
    const fault = fake.faultOf(text);
    if (fake.hanging || fault?.kind === 'stall') return;
    await new Promise((resolve) => setTimeout(resolve, fake.delayMs));
    if (fault?.kind === 'status') {
      response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers });
      return void response.end('{"error":{"message":"refused"}}');
    }
    if (fault?.kind === 'garbage') {
      response.writeHead(200, { 'content-type': 'text/html' });
      return void response.end(fault.text);
    }
    response.writeHead(200, { 'content-type': 'audio/pcm' });
    const samples = tone(text.length * MS_PER_CHARACTER, 24_000);
    const bytes = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
    const cutAt = fault?.kind === 'cut' ? fault.afterMs * 48 : Infinity;
    for (let at = 0; at < bytes.length; at += 4_801) {
      if (at >= cutAt) return void response.destroy();
      response.write(bytes.subarray(at, at + 4_801));
      if (fault?.kind === 'cut') await new Promise((resolve) => setTimeout(resolve, 5));
    }
    response.end();
  }

  return fake;
}

/**
 * Says why the first message of a stream is invalid. Names: `InitializeConnection` and `RealtimeVoiceSettings` in
 * `serialization/types` of `@elevenlabs/elevenlabs-js` 2.73.0; the range of `speed` is in `api/types` there.
 */
function openingFault(message: object): string | undefined {
  const { text, voice_settings: settings = {}, ...rest } = message as { text: string; voice_settings?: object };
  const { speed = 1, ...others } = settings as { speed?: unknown };
  const unknown = Object.keys({ ...rest, ...others })[0];
  if (unknown !== undefined) return `unknown field ${unknown} after ${text.length} characters`;
  return typeof speed === 'number' && speed >= 0.7 && speed <= 1.2 ? undefined : `speed is ${String(speed)}`;
}

/** Says why a request is invalid: `SpeechCreateParams` of the npm package `openai` 7.57.0. */
function speechFault({ speed = 1, ...body }: Record<string, unknown>): string | undefined {
  const unknown = Object.keys(body).find((name) => !['model', 'voice', 'input', 'response_format'].includes(name));
  if (unknown !== undefined) return `unknown field ${unknown}`;
  return typeof speed === 'number' && speed >= 0.25 && speed <= 4 ? undefined : `speed is ${String(speed)}`;
}
