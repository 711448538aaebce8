import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import { decodeMulaw } from '../../../../src/voice/audio/mulaw.js';
import { queryFault } from './deepgram-query';
import { openLoopback, type Loopback } from './loopback';
import { answerDeepgramLists, fakeLists, type FakeLists } from './provider-lists';

const FRAME_MS = 20;
const FRAME_BYTES = 160;
const LOUD = 600;
const IDLE_CLOSE_MS = 10_000;
/**
 * Words after a pause of this length belong to the caller's next turn, even if the end of the last turn was not
 * reported.
 */
const NEXT_TURN_AFTER_MS = 600;

/**
 * The languages that the service offers and Deepgram's `/v1/listen` accepts, in the spelling of Deepgram's
 * documentation.
 */
const LANGUAGES = 'en en-US en-GB de es es-419 fr hi it ja nl pt pt-BR'.split(' ');

/** A fault of one connection. */
export type SttFault =
  | { kind: 'refuse'; status: number; headers?: Record<string, string> }
  /** Accepts everything and responds to nothing. */
  | { kind: 'stall' }
  /** Closes the connection at the first word. */
  | { kind: 'close'; code: number }
  | { kind: 'garbage'; text: string };

export interface FakeDeepgram extends Loopback {
  /**
   * Sets the transcripts of the caller's turns on the next connection, in order; ` | ` marks a pause of the caller. A
   * later connection without a script continues the last one.
   */
  script(turns: readonly string[]): void;
  /** The transcript of every turn on a connection that has no script. */
  unscripted: string;
  /** Faults of the next connections, one for each connection. */
  faults: SttFault[];
  /** The URLs of all connections so far. */
  urls: URL[];
  authorizations: (string | undefined)[];
  /** Why connections were rejected because of their parameters. */
  invalid: string[];
  /** The types of the text messages that the client sent. */
  controls: string[];
  /** Number of connections that were closed because they were idle. */
  idleCloses: number;
  lists: FakeLists;
}

/** The messages of `/v1/listen`. `test/provider-types` proves that the official SDK can receive them. */
export type FakeNovaMessage =
  | {
      type: 'Results';
      channel_index: number[];
      duration: number;
      start: number;
      is_final: boolean;
      speech_final: boolean;
      channel: { alternatives: { transcript: string; confidence: number; words: [] }[] };
      metadata: { request_id: string; model_info: { name: string; version: string; arch: string }; model_uuid: string };
    }
  | { type: 'UtteranceEnd'; channel: number[]; last_word_end: number };

type FluxEvent = 'Update' | 'StartOfTurn' | 'EagerEndOfTurn' | 'TurnResumed' | 'EndOfTurn';

/** The messages of `/v2/listen`. `test/provider-types` proves that the official SDK can receive them. */
export type FakeFluxMessage =
  | { type: 'Connected'; request_id: string; sequence_id: number }
  | {
      type: 'TurnInfo';
      request_id: string;
      sequence_id: number;
      event: FluxEvent;
      turn_index: number;
      audio_window_start: number;
      audio_window_end: number;
      transcript: string;
      words: [];
      end_of_turn_confidence: number;
      /** Present on every `EndOfTurn`, and only there. */
      trigger?: 'model';
    };

/**
 * Streaming STT by Deepgram's protocols v1 and v2: detects speech in the audio, and takes the words from a script.
 */
export async function openFakeDeepgram(): Promise<FakeDeepgram> {
  let scripts: string[][] = [];
  let current: string[] | undefined;

  function onSocket(socket: WebSocket, request: IncomingMessage): void {
    const fault = pending.shift();
    current = scripts.shift() ?? current;
    const script = current;
    const next = () => (script === undefined ? fake.unscripted : (script.shift() ?? ''));
    const url = new URL(request.url ?? '', 'ws://fake');
    fake.urls.push(url);
    fake.authorizations.push(request.headers.authorization);
    const send = (message: FakeNovaMessage | FakeFluxMessage) => {
      if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
    };
    const transcriber =
      url.pathname === '/v2/listen' ? createFluxTranscriber(send, next) : createNovaTranscriber(send, next);
    let idle = setTimeout(closeIdle, IDLE_CLOSE_MS);
    socket.on('close', () => clearTimeout(idle));

    function closeIdle(): void {
      fake.idleCloses += 1;
      socket.close(1011, 'NET-0001');
    }

    if (url.pathname === '/v2/listen' && fault?.kind !== 'stall' && !fake.hanging)
      send({ type: 'Connected', request_id: 'r', sequence_id: 0 });
    socket.on('message', (data: Buffer, isBinary) => {
      idle.refresh();
      if (!isBinary) {
        const { type } = JSON.parse(data.toString('utf8')) as { type: string };
        fake.controls.push(type);
        if (type === 'Finalize') transcriber.finalize();
        if (type === 'CloseStream') socket.close(1000);
        return;
      }
      for (let at = 0; at < data.length; at += FRAME_BYTES) {
        const isLoud = decodeMulaw(data.subarray(at, at + FRAME_BYTES)).some((sample) => Math.abs(sample) > LOUD);
        if (isLoud && fault?.kind === 'close') return socket.close(fault.code);
        if (isLoud && fault?.kind === 'garbage') return socket.send(fault.text);
        if (fault?.kind !== 'stall' && !fake.hanging) transcriber.onFrame(isLoud);
      }
    });
  }

  const pending: SttFault[] = [];
  const loopback = await openLoopback({
    onRequest(request, response) {
      if (!fake.hanging && !answerDeepgramLists(request, response, fake.lists)) response.writeHead(404).end();
    },
    rejectUpgrade({ url }) {
      const asked = new URL(url ?? '', 'ws://fake');
      const language = asked.searchParams.get('language');
      if (asked.pathname === '/v1/listen' && language !== null && !LANGUAGES.includes(language)) return { status: 400 };
      const invalid = queryFault(asked);
      if (invalid !== undefined) {
        fake.invalid.push(invalid);
        return { status: 400 };
      }
      const [next] = pending;
      if (next?.kind !== 'refuse') return undefined;
      pending.shift();
      return next;
    },
    onSocket,
  });
  const fake: FakeDeepgram = Object.assign(loopback, {
    script: (turns: readonly string[]) => void scripts.push([...turns]),
    unscripted: '',
    faults: pending,
    urls: [],
    authorizations: [],
    invalid: [],
    controls: [],
    idleCloses: 0,
    lists: fakeLists('stt-key', ['nova-3-general', 'nova-2-general', 'flux-general-en', 'flux-general-multi']),
  });
  return fake;
}

interface Transcriber {
  onFrame(isLoud: boolean): void;
  finalize(): void;
}

/** Measures in ms how long speech and pauses in the audio last. */
function createSpeechMeter() {
  let loudFrames = 0;
  const meter = {
    atMs: 0,
    speaking: false,
    speechMs: 0,
    silentMs: 0,
    push(isLoud: boolean): void {
      meter.atMs += FRAME_MS;
      loudFrames = isLoud ? loudFrames + 1 : 0;
      if (isLoud && (meter.speaking || loudFrames >= 3)) {
        meter.speaking = true;
        meter.silentMs = 0;
        meter.speechMs += FRAME_MS;
      } else if (meter.speaking) meter.silentMs += FRAME_MS;
    },
    reset(): void {
      meter.speaking = false;
      meter.speechMs = 0;
      meter.silentMs = 0;
    },
  };
  return meter;
}

/** Makes an interim transcript: some words are missing, and the last one is wrong. */
function guess(text: string, speechMs: number): string {
  const words = text.split(' ');
  const count = Math.min(words.length, Math.max(1, Math.floor(speechMs / 300)));
  return [...words.slice(0, count - 1), `${words[count - 1]}ish`].join(' ');
}

function createNovaTranscriber(send: (message: FakeNovaMessage) => void, next: () => string): Transcriber {
  const meter = createSpeechMeter();
  let parts: string[] = [];
  let openPart: string | undefined;
  let utteranceOpen = false;

  function results(transcript: string, isFinal: boolean, isPause: boolean): void {
    const words: [] = [];
    const alternatives = [{ transcript, confidence: transcript === '' ? 0 : 0.98, words }];
    send({
      type: 'Results',
      channel_index: [0, 1],
      duration: 1,
      start: meter.atMs / 1_000,
      is_final: isFinal,
      speech_final: isPause,
      channel: { alternatives },
      metadata: { request_id: 'r', model_info: { name: 'nova', version: '1', arch: 'nova' }, model_uuid: 'm' },
    });
  }

  function endPart(isPause: boolean): void {
    results(openPart ?? '', true, isPause);
    openPart = undefined;
  }

  return {
    onFrame(isLoud) {
      const pausedMs = meter.silentMs;
      meter.push(isLoud);
      if (!meter.speaking) {
        if (meter.atMs % 1_000 === 0) results('', false, false);
        return;
      }
      if (meter.silentMs === 0 && openPart === undefined) {
        const isNextTurn = !utteranceOpen || pausedMs >= NEXT_TURN_AFTER_MS;
        if (parts.length === 0 && isNextTurn) parts = next().split(' | ');
        utteranceOpen = true;
        openPart = parts.shift() ?? '';
      }
      if (meter.silentMs === 0 && meter.speechMs % 300 === 0 && openPart)
        results(guess(openPart, meter.speechMs), false, false);
      if (meter.silentMs === 300 && openPart !== undefined) endPart(true);
      if (meter.silentMs === 1_000) {
        send({ type: 'UtteranceEnd', channel: [0, 1], last_word_end: (meter.atMs - 1_000) / 1_000 });
        utteranceOpen = false;
        parts = [];
        meter.reset();
      }
    },
    finalize() {
      if (openPart !== undefined) endPart(false);
    },
  };
}

function createFluxTranscriber(send: (message: FakeFluxMessage) => void, next: () => string): Transcriber {
  const meter = createSpeechMeter();
  let parts: string[] | undefined;
  let said = '';
  let eager = false;
  let turnIndex = 0;
  let sequence = 0;

  function turnInfo(event: FluxEvent, transcript: string): void {
    sequence += 1;
    send({
      type: 'TurnInfo',
      request_id: 'r',
      sequence_id: sequence,
      event,
      turn_index: turnIndex,
      audio_window_start: 0,
      audio_window_end: meter.atMs / 1_000,
      transcript,
      words: [],
      end_of_turn_confidence: event === 'EndOfTurn' ? 0.9 : 0.4,
      ...(event === 'EndOfTurn' ? { trigger: 'model' } : {}),
    });
  }

  return {
    onFrame(isLoud) {
      meter.push(isLoud);
      if (!meter.speaking) return;
      if (parts === undefined) {
        parts = next().split(' | ');
        said = parts.shift() ?? '';
        if (said !== '') turnInfo('StartOfTurn', guess(said, 1));
      }
      if (said === '') {
        if (meter.silentMs >= 700) reset();
        return;
      }
      if (meter.silentMs === 0 && eager) {
        eager = false;
        turnInfo('TurnResumed', said);
        said = [said, parts.shift()].filter(Boolean).join(' ');
      }
      if (meter.silentMs === 0 && meter.speechMs % 240 === 0) turnInfo('Update', guess(said, meter.speechMs));
      if (meter.silentMs === 300 && !eager) {
        eager = true;
        turnInfo('EagerEndOfTurn', said);
      }
      // If more of the turn's script follows, the pause does not end the turn.
      if (meter.silentMs === (parts.length > 0 ? 1_500 : 700)) {
        turnInfo('EndOfTurn', said);
        reset();
      }
    },
    finalize: () => undefined,
  };

  function reset(): void {
    turnIndex += 1;
    parts = undefined;
    eager = false;
    meter.reset();
  }
}
