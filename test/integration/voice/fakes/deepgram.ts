import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import { decodeMulaw } from '../../../../src/voice/audio/mulaw.js';
import { queryFault } from './deepgram-query';
import { connectionFault, deepgramError, takesControl } from './deepgram-rules';
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
  /**
   * Whether Flux takes `ForceEndTurn`. Hosted deployments do; self-hosted ones answer UNPARSABLE_CLIENT_MESSAGE before the
   * release that knows it (deepgram/deepgram-python-sdk#788; `V2Socket.sendForceEndTurn` of `@deepgram/sdk` 5.13.0).
   */
  endsTurns: boolean;
  /** The most connections at a time. */
  concurrency: number;
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
      /** Whether the result answers `Finalize`. */
      from_finalize: boolean;
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
      trigger?: 'model' | 'manual';
    }
  | { type: 'Error'; sequence_id: number; code: string; description: string };

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

    function closeUnparsable(): void {
      const code = 'UNPARSABLE_CLIENT_MESSAGE';
      // deepgram/deepgram-js-sdk#526
      send({ type: 'Error', sequence_id: 1, code, description: 'Could not deserialize the message.' });
      socket.close(1008, code);
    }

    if (url.pathname === '/v2/listen' && fault?.kind !== 'stall' && !fake.hanging)
      send({ type: 'Connected', request_id: 'r', sequence_id: 0 });
    socket.on('message', (data: Buffer, isBinary) => {
      idle.refresh();
      if (!isBinary) {
        const { type } = JSON.parse(data.toString('utf8')) as { type: string };
        fake.controls.push(type);
        if (!takesControl(url.pathname, type) || (type === 'ForceEndTurn' && !fake.endsTurns)) return closeUnparsable();
        if (type === 'Finalize' || type === 'ForceEndTurn') transcriber.finalize();
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
    upgradeHeaders: () => ({ 'dg-request-id': 'b2c5a6f0-6a52-4b4e-9e0e-1d2f3a4b5c6d' }),
    rejectUpgrade(request) {
      const wrong = connectionFault(request, fake.lists);
      if (wrong !== undefined) return wrong;
      const invalid = queryFault(new URL(request.url ?? '', 'ws://fake'));
      if (invalid !== undefined) {
        fake.invalid.push(invalid);
        return deepgramError(400, 'INVALID_QUERY_PARAMETER', invalid);
      }
      if (loopback.openSockets() > fake.concurrency)
        return deepgramError(429, 'TOO_MANY_REQUESTS', 'Too many requests. Please try again later.');
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
    endsTurns: true,
    concurrency: 100,
    idleCloses: 0,
    lists: fakeLists('stt-key', [
      'nova-3-general',
      'nova-2-general',
      'nova-2-phonecall',
      'flux-general-en',
      'flux-general-multi',
    ]),
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

  function results(transcript: string, isFinal: boolean, isPause: boolean, answersFinalize = false): void {
    const words: [] = [];
    const alternatives = [{ transcript, confidence: transcript === '' ? 0 : 0.98, words }];
    send({
      type: 'Results',
      channel_index: [0, 1],
      duration: 1,
      start: meter.atMs / 1_000,
      is_final: isFinal,
      speech_final: isPause,
      from_finalize: answersFinalize,
      channel: { alternatives },
      metadata: { request_id: 'r', model_info: { name: 'nova', version: '1', arch: 'nova' }, model_uuid: 'm' },
    });
  }

  function endPart(isPause: boolean, answersFinalize = false): void {
    results(openPart ?? '', true, isPause, answersFinalize);
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
      if (openPart !== undefined) endPart(false, true);
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

  function turnInfo(event: FluxEvent, transcript: string, trigger: 'model' | 'manual' = 'model'): void {
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
      ...(event === 'EndOfTurn' ? { trigger } : {}),
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
    /** Ends the turn; ignored if there is none: https://developers.deepgram.com/docs/flux/force-end-turn. */
    finalize() {
      if (parts === undefined || said === '') return;
      turnInfo('EndOfTurn', said, 'manual');
      reset();
    },
  };

  function reset(): void {
    turnIndex += 1;
    parts = undefined;
    eager = false;
    meter.reset();
  }
}
