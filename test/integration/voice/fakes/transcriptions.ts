import type { IncomingMessage, ServerResponse } from 'node:http';
import { openLoopback, type Loopback } from './loopback';
import { sendOpenAiError, WRONG_KEY } from './openai-errors';

const FIELDS = ['file', 'model', 'language', 'languages[]', 'response_format', 'keywords[]', 'prompt'];
/** Only these models take `languages`, which the SDK writes as `languages[]`; other servers reject or ignore it. */
const TAKES_LANGUAGES = /^gpt-(live-)?transcribe/;
const OPENAI_MODELS =
  /^(whisper-1|gpt-transcribe|gpt-4o-(mini-)?transcribe|gpt-4o-mini-transcribe-2025-12-15|gpt-4o-transcribe-diarize)$/;
const SAMPLE_RATE = 8_000;
const LOUD = 600;
/** A later request with the same beginning that is longer by this much belongs to the same turn. */
const LONGER_BY = 0.3 * SAMPLE_RATE;
const PAUSE = 0.25 * SAMPLE_RATE;
const COMPARED = 0.5 * SAMPLE_RATE;

/** A fault of one response. */
export type TranscriptionFault =
  | { kind: 'status'; status: number; headers?: Record<string, string>; message?: string }
  | { kind: 'stall' }
  /** The connection breaks before the response. */
  | { kind: 'cut' }
  | { kind: 'garbage'; text: string };

export interface FakeTranscriptions extends Loopback {
  /** Adds transcripts of the caller's next turns, in order; ` | ` marks a pause of the caller. */
  script(turns: readonly string[]): void;
  /** The transcript of every turn without a script. */
  unscripted: string;
  /** Replaces the script: transcribes the samples itself. */
  transcribe?: (pcm: Int16Array) => Promise<string>;
  /** Faults of the next responses, one for each. */
  faults: TranscriptionFault[];
  /** The key that the fake requires; undefined if it requires none. */
  key: string | undefined;
  /** The models of a self-hosted server, which answers as speaches does. Without them, the models and answers are OpenAI's. */
  installed: string[] | undefined;
  /** A language that the model does not know. Without one, each request must name its language. */
  rejectedLanguage: string | undefined;
  /** How long the fake takes for a transcript. */
  delayMs: number;
  requests: { fields: Record<string, string>; seconds: number; authorization: string | undefined }[];
  /** Requests that were rejected because they were invalid, with the reason. */
  invalid: string[];
  /** Number of requests that the client aborted. */
  abandoned: number;
}

/** A response. `test/provider-types` proves that the official SDK can receive it. */
export interface FakeTranscription {
  text: string;
  usage: { type: 'duration'; seconds: number };
}

/**
 * The `/v1/audio/transcriptions` route of OpenAI, as strict as the original and the self-hosted servers together:
 * - fields and the file's name with an extension: `TranscriptionCreateParamsBase` of the npm package `openai` 7.57.0;
 * - a 400 with `audio_too_short` below 0.1 s: the error body in UpstreetAI/usdk issue 637 (2024-11-21);
 * - OpenAI's models: `AudioModel` of the same package; a 400 without a code for any other: the error body in
 *   speaches-ai/speaches issue 17 (2024-06-08), of a request that went to OpenAI;
 * - of a self-hosted server, a 404 for a model that is not installed: `transcribe_file` in `src/speaches/routers/stt.py` of
 *   speaches, commit 06120fb6; a 403 without the key if one is configured: `verify_api_key` in
 *   `src/speaches/dependencies.py`, commit 0a20b558.
 */
export async function openFakeTranscriptions(): Promise<FakeTranscriptions> {
  const script: string[] = [];
  let last: { voice: Int16Array; parts: string[] } | undefined;

  const loopback = await openLoopback({
    onRequest(request, response) {
      void answer(request, response);
    },
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let done = false;
    response.on('close', () => {
      if (!done) fake.abandoned += 1;
    });
    const form = await formIn(request);
    if (fake.hanging) return undefined;
    const reply = (status: number, body: string, headers: Record<string, string> = {}) => {
      done = true;
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(body);
    };
    const pcm = form === undefined ? undefined : await samplesIn(form.get('file'));
    const fault = faultOf(request, form, pcm, fake);
    if (fault !== undefined || form === undefined || pcm === undefined) {
      const { status, reason, body } = fault ?? { status: 400, reason: 'no form' };
      fake.invalid.push(reason);
      return reply(status, JSON.stringify(body ?? { error: { message: reason } }));
    }
    const fields = Object.fromEntries([...form.keys()].map((name) => [name, form.getAll(name).map(nameOf).join('|')]));
    const { authorization } = request.headers;
    fake.requests.push({ fields, seconds: pcm.length / SAMPLE_RATE, authorization });
    const scripted = fake.faults.shift();
    if (scripted?.kind === 'stall') return undefined;
    if (scripted?.kind === 'cut') return void response.destroy();
    if (scripted?.kind === 'garbage') return reply(200, scripted.text);
    if (scripted?.kind === 'status') {
      done = true;
      const { status, message, headers } = scripted;
      const error = { type: 'invalid_request_error', param: null, code: null };
      return sendOpenAiError(
        response,
        { status, ...(message === undefined ? {} : { error: { ...error, message } }) },
        headers,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, fake.delayMs));
    if (response.destroyed) return undefined;
    // Whisper models begin their text with a space.
    const text = fake.transcribe === undefined ? ` ${wordsOf(pcm)}` : await fake.transcribe(pcm);
    const usage = { type: 'duration' as const, seconds: Math.ceil(pcm.length / SAMPLE_RATE) };
    return reply(200, JSON.stringify({ text, usage } satisfies FakeTranscription));
  }

  /** Returns the words of the turn, as far as the audio goes. */
  function wordsOf(pcm: Int16Array): string {
    const { voice, pauses } = voiceIn(pcm);
    if (last === undefined || !continues(voice, last.voice)) {
      last = { voice, parts: (script.shift() ?? fake.unscripted).split(' | ') };
    }
    last.voice = voice;
    return last.parts.slice(0, pauses + 1).join(' ');
  }

  const fake: FakeTranscriptions = Object.assign(loopback, {
    script: (turns: readonly string[]) => void script.push(...turns),
    unscripted: '',
    faults: [],
    key: undefined,
    installed: undefined,
    rejectedLanguage: undefined,
    delayMs: 0,
    requests: [],
    invalid: [],
    abandoned: 0,
  });
  return fake;
}

type Form = Awaited<ReturnType<Response['formData']>>;

async function formIn(request: IncomingMessage): Promise<Form | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const type = request.headers['content-type'] ?? '';
    return await new Response(Buffer.concat(chunks), { headers: { 'content-type': type } }).formData();
  } catch {
    return undefined;
  }
}

interface Fault {
  status: number;
  reason: string;
  /** The body of the response, if it is not an error of OpenAI's with the reason. */
  body?: object;
}

function faultOf(
  request: IncomingMessage,
  form: Form | undefined,
  pcm: Int16Array | undefined,
  fake: Pick<FakeTranscriptions, 'key' | 'installed' | 'rejectedLanguage'>,
): Fault | undefined {
  if (request.method !== 'POST' || request.url !== '/v1/audio/transcriptions')
    return { status: 404, reason: `${request.method} ${request.url}` };
  if (fake.key !== undefined && request.headers.authorization !== `Bearer ${fake.key}`) return keyFault(fake);
  if (form === undefined) return { status: 400, reason: 'the body is not a form' };
  const names = [...form.keys()];
  const unknown = names.find(
    (name, index) => !FIELDS.includes(name) || (!name.endsWith('[]') && names.indexOf(name) !== index),
  );
  if (unknown !== undefined) return { status: 400, reason: `the field ${unknown} is unknown or repeated` };
  if (typeof form.get('model') !== 'string') return { status: 400, reason: 'there is no model' };
  const unknownModel = modelFaultIn(nameOf(form.get('model')), fake);
  if (unknownModel !== undefined) return unknownModel;
  const languageFault = languageFaultIn(form, fake.rejectedLanguage);
  if (languageFault !== undefined) return { status: 400, reason: languageFault };
  const hintsFault = hintsFaultIn(form);
  if (hintsFault !== undefined) return { status: 400, reason: hintsFault };
  if (form.get('response_format') !== 'json') return { status: 400, reason: 'response_format is not json' };
  if (!nameOf(form.get('file')).endsWith('.wav')) return { status: 400, reason: 'the file has no extension' };
  if (pcm === undefined) return { status: 400, reason: 'the file is not a WAV file of telephone audio' };
  return pcm.length < 0.1 * SAMPLE_RATE ? { status: 400, reason: 'audio_too_short' } : undefined;
}

function keyFault({ installed }: Pick<FakeTranscriptions, 'installed'>): Fault {
  const { status, error } = WRONG_KEY;
  if (installed === undefined) return { status, reason: error.message, body: { error } };
  const reason = 'Invalid API key. The provided API key is incorrect.';
  return { status: 403, reason, body: { detail: reason } };
}

function modelFaultIn(model: string, { installed }: Pick<FakeTranscriptions, 'installed'>): Fault | undefined {
  if (installed?.includes(model) ?? OPENAI_MODELS.test(model)) return undefined;
  if (installed === undefined) {
    const reason = 'invalid model ID';
    const error = { message: reason, type: 'invalid_request_error', param: null, code: null };
    return { status: 400, reason, body: { error } };
  }
  const reason = `Model '${model}' is not installed locally. You can download the model using \`POST /v1/models\``;
  return { status: 404, reason, body: { detail: reason } };
}

function languageFaultIn(form: Form, rejectedLanguage: string | undefined): string | undefined {
  const [name, other] = TAKES_LANGUAGES.test(nameOf(form.get('model')))
    ? ['languages[]', 'language']
    : ['language', 'languages[]'];
  if (form.has(other)) return `the model does not take ${other}`;
  if (!form.has(name) && rejectedLanguage !== undefined) return undefined;
  const language = nameOf(form.get(name));
  if (!/^[a-z]{2}$/.test(language)) return `${name} is not ISO-639-1`;
  return language === rejectedLanguage ? `Invalid value for '${name}': '${language}' is not supported.` : undefined;
}

/** `TranscriptionCreateParamsBase.keywords` and `prompt` of the npm package `openai` 7.57.0. */
function hintsFaultIn(form: Form): string | undefined {
  const model = nameOf(form.get('model'));
  if (form.has('keywords[]') && !TAKES_LANGUAGES.test(model)) return 'the model does not take keywords';
  return form.has('prompt') && /diarize/.test(model) ? 'the model does not take a prompt' : undefined;
}

function nameOf(value: unknown): string {
  return typeof value === 'string' ? value : ((value as File | null)?.name ?? '');
}

/** Returns the samples of a WAV file: 8 kHz, 16 bits, one channel, with the right lengths in its header. */
async function samplesIn(file: unknown): Promise<Int16Array | undefined> {
  if (typeof file !== 'object' || file === null) return undefined;
  const bytes = Buffer.from(await (file as File).arrayBuffer());
  const isWav =
    bytes.length >= 44 &&
    bytes.toString('latin1', 0, 4) === 'RIFF' &&
    bytes.readUInt32LE(4) === bytes.length - 8 &&
    bytes.toString('latin1', 8, 16) === 'WAVEfmt ' &&
    [bytes.readUInt16LE(20), bytes.readUInt16LE(22), bytes.readUInt32LE(24)].join() === `1,1,${SAMPLE_RATE}` &&
    bytes.readUInt16LE(34) === 16 &&
    bytes.toString('latin1', 36, 40) === 'data' &&
    bytes.readUInt32LE(40) === bytes.length - 44;
  if (!isWav) return undefined;
  return Int16Array.from({ length: (bytes.length - 44) / 2 }, (_, i) => bytes.readInt16LE(44 + i * 2));
}

/** The samples from the first loud one to the last, and the number of pauses between them. */
function voiceIn(pcm: Int16Array): { voice: Int16Array; pauses: number } {
  const isLoud = (sample: number) => Math.abs(sample) > LOUD;
  const voice = pcm.subarray(Math.max(0, pcm.findIndex(isLoud)), pcm.findLastIndex(isLoud) + 1);
  let quiet = 0;
  let pauses = 0;
  for (const sample of voice) {
    quiet = isLoud(sample) ? 0 : quiet + 1;
    if (quiet === PAUSE) pauses += 1;
  }
  return { voice, pauses };
}

function continues(voice: Int16Array, before: Int16Array): boolean {
  if (voice.length < before.length + LONGER_BY) return false;
  return before.subarray(0, COMPARED).every((sample, i) => sample === voice[i]);
}
