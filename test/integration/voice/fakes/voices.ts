import type { ServerResponse } from 'node:http';
import { sendOpenAiError, WRONG_KEY, type OpenAiRejection } from './openai-errors';
import { bodyOf, openLoopback, type Loopback } from './loopback';
import { answerOpenAiLists, fakeLists, type FakeLists } from './provider-lists';

/** How long one character of speech lasts. */
export const MS_PER_CHARACTER = 50;

/** A fault that occurs when a certain text is spoken. */
export type VoiceFault =
  | { kind: 'stall' }
  /** The connection breaks after this much audio. */
  | { kind: 'cut'; afterMs: number }
  | { kind: 'garbage'; text: string }
  /** The audio is of another format, as of a server that knows no `pcm` (mudler/LocalAI#2732). */
  | { kind: 'format'; type: string; head: string }
  | { kind: 'status'; status: number; headers?: Record<string, string> };

export interface FakeVoice extends Loopback {
  /** Returns the fault for a text. `refusals` configures rejected websocket upgrades. */
  faultOf: (text: string) => VoiceFault | undefined;
  /** The HTTP statuses with which the next upgrades are rejected. */
  refusals: number[];
  /** The texts that the fake was asked to speak, in order. */
  texts: string[];
  /** The first message of each context, or the body of each request. */
  openings: Record<string, unknown>[];
  /** Reasons for which messages were rejected. */
  invalid: string[];
  urls: URL[];
  /** How long the fake waits before the first audio of a text. */
  delayMs: number;
  /** Whether it speaks one text after the other, as servers on a CPU do (thewh1teagle/kokoro-onnx#168). */
  serial: boolean;
  /** The type that `/audio/speech` gives its audio. Some gateways name another format (BerriAI/litellm#38798). */
  contentType: string;
  /** Whether each audio chunk comes with its words. */
  alignment: boolean;
  lists: FakeLists;
}

/** A loud tone, at this rate. */
export function tone(ms: number, rate: number): Int16Array {
  return Int16Array.from({ length: (ms * rate) / 1_000 }, (_, i) => Math.sin((2 * Math.PI * 440 * i) / rate) * 9_000);
}

export function fakeVoice(loopback: Loopback): FakeVoice {
  return Object.assign(loopback, {
    faultOf: () => undefined,
    refusals: [],
    texts: [],
    openings: [],
    invalid: [],
    urls: [],
    delayMs: 0,
    serial: false,
    contentType: 'audio/pcm',
    alignment: true,
    lists: fakeLists('tts-key', ['test-voice-v2_5'], [{ voice_id: 'voice-amber' }, { voice_id: 'voice-default' }]),
  });
}

/**
 * The `/audio/speech` route of OpenAI in format `pcm`: 24 kHz audio, in chunks that may end in the middle of a sample.
 */
export async function openFakeOpenAiSpeech(): Promise<FakeVoice> {
  const fake: FakeVoice = fakeVoice(
    await openLoopback({
      onRequest(request, response) {
        if (!fake.hanging && answerOpenAiLists(request, response, fake.lists)) return;
        fake.urls.push(new URL(request.url ?? '', 'http://fake'));
        if (request.headers.authorization !== `Bearer ${fake.lists.key}`) return sendOpenAiError(response, WRONG_KEY);
        void bodyOf(request).then((body) => {
          fake.openings.push(body);
          const fault = speechFault(body, fake.lists);
          if (fault === undefined) return inTurn(() => speak(String(body['input']), response));
          fake.invalid.push(fault.error.message);
          return sendOpenAiError(response, fault);
        });
      },
    }),
  );

  let turns = Promise.resolve();

  async function inTurn(work: () => Promise<void>): Promise<void> {
    if (!fake.serial) return work();
    turns = turns.then(work);
    return turns;
  }

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
    if (fault?.kind === 'format') {
      response.writeHead(200, { 'content-type': fault.type });
      return void response.end(Buffer.concat([Buffer.from(fault.head, 'latin1'), Buffer.alloc(9_600, 0x55)]));
    }
    response.writeHead(200, { 'content-type': fake.contentType });
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

/** `SpeechCreateParams` of the npm package `openai` 7.57.0. */
const SPEECH = 'model voice input response_format speed instructions stream_format'.split(' ');
const FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'];
const MAX_INPUT = 4_096;

/** Says why a request is rejected. An unknown model has the error of `/models/{model}`. */
function speechFault(body: Record<string, unknown>, { models, voices }: FakeLists): OpenAiRejection | undefined {
  const { model, voice, input, response_format: format = 'mp3', speed = 1 } = body;
  const unknown = Object.keys(body).find((name) => !SPEECH.includes(name));
  if (unknown !== undefined) return invalid(unknown, `Unrecognized request argument supplied: ${unknown}`);
  if (typeof model !== 'string' || !models.includes(model)) {
    const message = `The model '${String(model)}' does not exist`;
    return { status: 404, error: { message, type: 'invalid_request_error', param: null, code: 'model_not_found' } };
  }
  if (!voices.some(({ voice_id: id }) => id === voice)) return invalid('voice', `Invalid value: '${String(voice)}'.`);
  if (typeof input !== 'string' || input === '') return invalid('input', 'Input should have at least 1 character.');
  if (input.length > MAX_INPUT) return invalid('input', `String should have at most ${MAX_INPUT} characters.`);
  if (!FORMATS.some((name) => name === format))
    return invalid('response_format', `Invalid value: '${String(format)}'.`);
  const isSpeed = typeof speed === 'number' && speed >= 0.25 && speed <= 4;
  return isSpeed ? undefined : invalid('speed', `speed is ${String(speed)}`);
}

function invalid(param: string, message: string): OpenAiRejection {
  return { status: 400, error: { message, type: 'invalid_request_error', param, code: null } };
}
