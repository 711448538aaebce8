import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import { encodeMulaw } from '../../../../src/voice/audio/mulaw.js';
import { openLoopback } from './loopback';
import { answerElevenLabsLists, type FakeLists } from './provider-lists';
import { fakeVoice, MS_PER_CHARACTER, tone, type FakeVoice, type VoiceFault } from './voices';

const PIECE_MS = 250;
/** Contexts per socket: https://elevenlabs.io/docs/eleven-api/guides/how-to/websockets/multi-context-web-socket */
const MAX_CONTEXTS = 5;

export interface FakeElevenLabs extends FakeVoice {
  /** Each message of the clients in short: `text u1`, `close u1`, `close socket`. */
  received: string[];
  /** The most contexts that a socket had at the same time. */
  mostContexts: number;
  /** How long the fake waits between two pieces of audio. */
  pieceDelayMs: number;
  /** Ends every socket as after the time without messages that `inactivity_timeout` allows. */
  endIdleSockets(): void;
}

interface FakeAlignment {
  chars: string[];
  charStartTimesMs: number[];
  charDurationsMs: number[];
}

/** The messages of `multi-stream-input`. `test/provider-types` proves that the official SDK can receive them. */
export type FakeMultiContextAnswer =
  | {
      audio: string;
      alignment: FakeAlignment | null;
      normalizedAlignment: FakeAlignment | null;
      contextId: string;
    }
  | { isFinal: true; contextId: string };

/** A message of a client: `WebsocketTtsClientMessageMulti` of `@elevenlabs/elevenlabs-js` 2.73.0. */
interface ClientMessage {
  text?: string | null;
  context_id?: string;
  flush?: boolean;
  close_context?: boolean;
  close_socket?: boolean;
  voice_settings?: Record<string, unknown>;
}

/** A message that ends a socket. Its form: livekit/agents-js#1985. */
interface Fault {
  message: string;
  error: string;
  code: 1008;
}

const faultOf = (error: string, message: string): Fault => ({ message, error, code: 1008 });

/**
 * Fakes the `multi-stream-input` websocket of ElevenLabs. It speaks each text as a tone of 50 ms per character, and sends
 * all audio of a text immediately. Rules that no SDK states have their source in the code.
 */
export async function openFakeElevenLabs(): Promise<FakeElevenLabs> {
  const sockets = new Set<WebSocket>();
  const base = fakeVoice(
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
        sockets.add(socket);
        socket.on('close', () => sockets.delete(socket));
        serve(fake, socket, request);
      },
    }),
  );
  const fake: FakeElevenLabs = Object.assign(base, {
    received: [],
    mostContexts: 0,
    pieceDelayMs: 0,
    endIdleSockets() {
      // elevenlabs/elevenlabs-docs#426
      const fault = faultOf('input_timeout_exceeded', 'Have not received a new text input within the timeout.');
      for (const socket of sockets) end(socket, fault);
    },
  });
  return fake;
}

function serve(fake: FakeElevenLabs, socket: WebSocket, request: IncomingMessage): void {
  const url = new URL(request.url ?? '', 'ws://fake');
  fake.urls.push(url);
  const fault = addressFault(request.headers['xi-api-key'], url, fake.lists);
  if (fault !== undefined) return end(socket, fault);
  const contexts = new Map<string, ReturnType<typeof createContext>>();
  let rest = Promise.resolve();

  // Messages are handled one after another, as they came.
  socket.on('message', (data: Buffer) => {
    rest = rest.then(() => handle(JSON.parse(data.toString('utf8')) as ClientMessage));
  });

  function handle(message: ClientMessage): void {
    const { context_id: id = 'default', text } = message;
    const reason = messageFault(message, contexts.has(id));
    if (reason !== undefined) {
      fake.invalid.push(reason);
      return end(socket, faultOf('input_validation_error', reason));
    }
    if (message.close_socket === true) {
      fake.received.push('close socket');
      // It waits for contexts: pipecat-ai/pipecat#5874.
      if (contexts.size === 0) socket.close(1000);
      return undefined;
    }
    if (message.close_context === true) {
      fake.received.push(`close ${id}`);
      return contexts.get(id)?.close();
    }
    fake.received.push(`text ${id}`);
    const known = contexts.get(id);
    if (known !== undefined) return known.add(text ?? '', message.flush === true);
    // The space of the first message is not spoken.
    return open(id, message)?.add(text?.trimStart() ?? '', message.flush === true);
  }

  /** Any message about an unknown context opens it, a flush, too: pipecat-ai/pipecat#4126. */
  function open(id: string, message: ClientMessage) {
    if (contexts.size >= MAX_CONTEXTS) {
      const limit = 'Maximum simultaneous contexts per WebSocket connection exceeded (5).';
      const remedy = 'Please close an existing context before opening a new one.';
      end(socket, faultOf('max_active_conversations', `${limit} ${remedy}`));
      return undefined;
    }
    if (message.text !== ' ') fake.invalid.push(`context ${id} without a first message`);
    fake.openings.push({ ...message });
    // A context counts until its final message, even if it was closed: pipecat-ai/pipecat#5601.
    const context = createContext({ fake, socket, url, id, onFinal: () => contexts.delete(id) });
    contexts.set(id, context);
    fake.mostContexts = Math.max(fake.mostContexts, contexts.size);
    return context;
  }
}

function createContext(p: { fake: FakeElevenLabs; socket: WebSocket; url: URL; id: string; onFinal(): void }) {
  const { fake, id } = p;
  // Text waits for more, unless it is flushed or the stream has no buffers.
  const isUnbuffered = p.url.searchParams.get('auto_mode') === 'true';
  const isAligned = p.url.searchParams.get('sync_alignment') === 'true';
  let speaking = Promise.resolve();
  let waiting = '';
  let hasAudio = false;
  let isClosed = false;

  function answer(message: FakeMultiContextAnswer): void {
    p.socket.send(JSON.stringify(message));
  }

  async function speak(text: string): Promise<void> {
    fake.texts.push(text.trim());
    const fault = fake.faultOf(text.trim());
    if (fake.hanging || fault?.kind === 'stall') return new Promise(() => undefined);
    if (fault?.kind === 'garbage') return p.socket.send(fault.text);
    await new Promise((resolve) => setTimeout(resolve, fake.delayMs));
    // A context that is closed before its first audio may lose its text: pipecat-ai/pipecat#4681, #5271.
    if (isClosed && !hasAudio) return undefined;
    return sendAudio(text, fault);
  }

  async function sendAudio(text: string, fault: VoiceFault | undefined): Promise<void> {
    const perPiece = PIECE_MS / MS_PER_CHARACTER;
    for (let at = 0, ms = 0; at < text.length; at += perPiece, ms += PIECE_MS) {
      if (fault?.kind === 'cut' && ms >= fault.afterMs) return p.socket.close(1011, 'internal');
      if (fake.pieceDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, fake.pieceDelayMs));
      const chars = text.slice(at, at + perPiece).split('');
      const isLast = at + perPiece >= text.length;
      // Without `sync_alignment`, most audio has no alignment: elevenlabs/elevenlabs-python#689.
      const known = isAligned ? chars : isLast ? text.split('') : undefined;
      const audio = Buffer.from(encodeMulaw(tone(chars.length * MS_PER_CHARACTER, 8_000))).toString('base64');
      const alignment = fake.alignment && known !== undefined ? alignmentOf(known) : null;
      hasAudio = true;
      answer({ audio, alignment, normalizedAlignment: alignment, contextId: id });
    }
  }

  function end(): void {
    answer({ isFinal: true, contextId: id });
    p.onFinal();
  }

  return {
    add(text: string, flush: boolean): void {
      if (isClosed) return;
      waiting += text;
      if ((!isUnbuffered && !flush) || waiting.trim() === '') return;
      const due = waiting;
      waiting = '';
      speaking = speaking.then(() => speak(due));
    },
    /**
     * Only now comes the final message (bolna-ai/bolna#790). Text that was not flushed is lost (gojargo/jargo#55); flushed
     * text is spoken to its end (comment of `CloseContext` in the SDK).
     */
    close(): void {
      isClosed = true;
      waiting = '';
      if (hasAudio) speaking = speaking.then(end);
      else end();
    },
  };
}

function end(socket: WebSocket, fault: Fault): void {
  socket.send(JSON.stringify(fault));
  socket.close(1008, fault.message.slice(0, 120));
}

function alignmentOf(chars: string[]): FakeAlignment {
  const charStartTimesMs = chars.map((_, index) => index * MS_PER_CHARACTER);
  return { chars, charStartTimesMs, charDurationsMs: chars.map(() => MS_PER_CHARACTER) };
}

/**
 * The reason why a socket is rejected. The codes are those of the HTTP API:
 * https://elevenlabs.io/docs/eleven-api/resources/errors; no source says that sockets use them.
 */
function addressFault(
  key: string | string[] | undefined,
  { pathname, searchParams }: URL,
  { key: right, models, voices }: FakeLists,
): Fault | undefined {
  if (key !== right) return faultOf('invalid_api_key', 'Invalid API key');
  const voice = decodeURIComponent(/^\/v1\/text-to-speech\/([^/]+)\/multi-stream-input$/.exec(pathname)?.[1] ?? '');
  if (!voices.some(({ voice_id: id }) => id === voice))
    return faultOf('voice_not_found', `A voice with voice_id ${voice} was not found.`);
  const model = searchParams.get('model_id') ?? '';
  if (!models.includes(model)) return faultOf('model_not_found', `A model with model ID ${model} does not exist.`);
  // At most 180 s: the parameter's description in ElevenLabs' API reference.
  const timeout = Number(searchParams.get('inactivity_timeout') ?? 20);
  return timeout <= 180 ? undefined : faultOf('input_validation_error', 'inactivity_timeout is above 180');
}

const FIELDS = ['text', 'context_id', 'flush', 'close_context', 'close_socket', 'voice_settings'];

/**
 * Says why a message is invalid. Names: `serialization/types` of `@elevenlabs/elevenlabs-js` 2.73.0; the range of `speed`
 * and that settings belong to the first message of a context are in `api/types` there.
 */
function messageFault(message: ClientMessage, isOpen: boolean): string | undefined {
  const { voice_settings: settings } = message;
  const { speed = 1, ...others } = settings ?? {};
  const unknown = [...Object.keys(message).filter((name) => !FIELDS.includes(name)), ...Object.keys(others)][0];
  if (unknown !== undefined) return `unknown field ${unknown}`;
  if (settings !== undefined && isOpen) return 'voice_settings after the first message';
  if (message.close_context === true && message.context_id === undefined) return 'close_context without context_id';
  return typeof speed === 'number' && speed >= 0.7 && speed <= 1.2 ? undefined : `speed is ${String(speed)}`;
}
