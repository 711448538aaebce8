import type { ServerResponse } from 'node:http';
import type { WebSocket } from 'ws';
import { encodeMulaw } from '../../../../src/voice/audio/mulaw.js';
import { sendOpenAiError, WRONG_KEY } from './openai-errors';
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

interface FakeAlignment {
  chars: string[];
  charStartTimesMs: number[];
  charDurationsMs: number[];
}

function alignmentOf(chars: string[]): FakeAlignment {
  const charStartTimesMs = chars.map((_, index) => index * MS_PER_CHARACTER);
  return { chars, charStartTimesMs, charDurationsMs: chars.map(() => MS_PER_CHARACTER) };
}

/**
 * Returns the message with which ElevenLabs ends a stream. Its form: livekit/agents-js#1985. The codes are those of the
 * HTTP API: https://elevenlabs.io/docs/eleven-api/resources/errors; no source says that sockets use them.
 */
function streamInputFault(
  key: string | string[] | undefined,
  { pathname, searchParams }: URL,
  { key: right, models, voices }: FakeLists,
): { message: string; error: string; code: 1008 } | undefined {
  const fault = (error: string, message: string) => ({ message, error, code: 1008 as const });
  if (key !== right) return fault('invalid_api_key', 'Invalid API key');
  const voice = decodeURIComponent(/^\/v1\/text-to-speech\/([^/]+)\/stream-input$/.exec(pathname)?.[1] ?? '');
  if (!voices.some(({ voice_id: id }) => id === voice))
    return fault('voice_not_found', `A voice with voice_id ${voice} was not found.`);
  const model = searchParams.get('model_id') ?? '';
  return models.includes(model)
    ? undefined
    : fault('model_not_found', `A model with model ID ${model} does not exist.`);
}

/** The messages of `stream-input`. `test/provider-types` proves that the official SDK can receive them. */
export type FakeStreamInputAnswer =
  | {
      audio: string;
      alignment: FakeAlignment | null;
      normalizedAlignment: FakeAlignment | null;
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
        // The form of ElevenLabs' errors: https://elevenlabs.io/docs/eleven-api/resources/errors.
        const detail = { status: 'too_many_concurrent_requests', message: 'Too many concurrent requests.' };
        const headers = { 'request-id': 'kW3bQ1' };
        return status === undefined ? undefined : { status, headers, body: JSON.stringify({ detail }) };
      },
      upgradeHeaders: () => ({ 'request-id': 'kW3bQ1' }),
      onSocket(socket, request) {
        const url = new URL(request.url ?? '', 'ws://fake');
        fake.urls.push(url);
        const fault = streamInputFault(request.headers['xi-api-key'], url, fake.lists);
        if (fault !== undefined) {
          socket.send(JSON.stringify(fault));
          return socket.close(1008, fault.message.slice(0, 120));
        }
        let speaking = Promise.resolve();
        // Text waits for more, unless it is flushed or the stream has no buffers.
        const isUnbuffered = url.searchParams.get('auto_mode') === 'true';
        const isAligned = url.searchParams.get('sync_alignment') === 'true';
        let waiting = '';
        const speakNow = (text: string) => void (speaking = speaking.then(() => speak(socket, text, isAligned)));
        const idle = setTimeout(closeIdle, Number(url.searchParams.get('inactivity_timeout') ?? 20) * 1_000).unref();
        socket.on('close', () => clearTimeout(idle));
        socket.on('message', (data: Buffer) => {
          idle.refresh();
          const message = JSON.parse(data.toString('utf8')) as { text: string; flush?: boolean };
          const { text, flush } = message;
          if (text === ' ') return begin(socket, message);
          waiting += text;
          const isDue = text === '' || isUnbuffered || flush === true;
          if (isDue && waiting !== '') speakNow(waiting);
          if (isDue) waiting = '';
          if (text === '') speaking = speaking.then(() => finish(socket));
        });

        function closeIdle(): void {
          // elevenlabs/elevenlabs-docs#426
          const message = 'Have not received a new text input within the timeout of 20 seconds.';
          socket.send(JSON.stringify({ message, error: 'input_timeout_exceeded', code: 1008 }));
          socket.close(1008, message);
        }
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

  async function speak(socket: WebSocket, text: string, isAligned: boolean): Promise<void> {
    fake.texts.push(text.trim());
    const fault = fake.faultOf(text.trim());
    if (fake.hanging || fault?.kind === 'stall') return new Promise(() => undefined);
    if (fault?.kind === 'garbage') return socket.send(fault.text);
    await new Promise((resolve) => setTimeout(resolve, fake.delayMs));
    const perPiece = PIECE_MS / MS_PER_CHARACTER;
    for (let at = 0, ms = 0; at < text.length; at += perPiece, ms += PIECE_MS) {
      if (fault?.kind === 'cut' && ms >= fault.afterMs) return socket.close(1011, 'internal');
      const chars = text.slice(at, at + perPiece).split('');
      const isLast = at + perPiece >= text.length;
      // Without `sync_alignment`, most audio has no alignment: elevenlabs/elevenlabs-python#689.
      const known = isAligned ? chars : isLast ? text.split('') : undefined;
      const audio = Buffer.from(encodeMulaw(tone(chars.length * MS_PER_CHARACTER, 8_000))).toString('base64');
      const alignment = fake.alignment && known !== undefined ? alignmentOf(known) : null;
      answer(socket, { audio, alignment, normalizedAlignment: alignment, isFinal: null });
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
        if (request.headers.authorization !== `Bearer ${fake.lists.key}`) return sendOpenAiError(response, WRONG_KEY);
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
      return sendOpenAiError(response, { status: fault.status }, fault.headers);
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
