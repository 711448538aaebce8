import type { ServerResponse } from 'node:http';
import { sendOpenAiError, WRONG_KEY } from './openai-errors';
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

/** Says why a request is invalid: `SpeechCreateParams` of the npm package `openai` 7.57.0. */
function speechFault({ speed = 1, ...body }: Record<string, unknown>): string | undefined {
  const unknown = Object.keys(body).find((name) => !['model', 'voice', 'input', 'response_format'].includes(name));
  if (unknown !== undefined) return `unknown field ${unknown}`;
  return typeof speed === 'number' && speed >= 0.25 && speed <= 4 ? undefined : `speed is ${String(speed)}`;
}
