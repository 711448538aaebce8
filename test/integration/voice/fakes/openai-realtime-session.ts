import { randomBytes } from 'node:crypto';
import type { WebSocket } from 'ws';
import { decodeMulaw } from '../../../../src/voice/audio/mulaw.js';
import type { ConversationItem } from '../../../../src/voice/engines/realtime/protocol.js';
import type { ScriptedTurn } from '../engine-contract';
import { toolsFault } from './openai-tools';
import { transcriptionFault, type TranscriptionSettings } from './openai-models';
import { itemFault, responseFault } from './openai-realtime-items';
import { settingsFault } from './openai-realtime-settings';
import { responseOf, type FakeServerEvent, type Nastiness, type OutputItem } from './openai-realtime-events';
import { createOutput, newResponse, type ActiveResponse } from './openai-realtime-output';

/** An event that the client sent, with the fields that the tests read. */
export interface ClientEvent {
  type: string;
  event_id?: string;
  session?: {
    type?: string;
    instructions?: string;
    reasoning?: { effort?: string };
    tools?: { name: string; parameters?: object }[];
    audio?: {
      input?: {
        format?: { type?: string };
        turn_detection?: Record<string, unknown> | null;
        transcription?: TranscriptionSettings | null;
        noise_reduction?: { type?: string } | null;
      };
      output?: { format?: { type?: string }; voice?: string | { id: string }; speed?: number };
    };
  };
  item?: { type: string; role?: string; output?: string; call_id?: string; content?: { text?: string }[] };
  item_id?: string;
  audio?: string;
  audio_end_ms?: number;
  content_index?: number;
  response?: { metadata?: Record<string, string>; tool_choice?: string; instructions?: string };
  response_id?: string;
}

export interface FakeSession {
  /** All events of the client except audio, in order. */
  readonly events: ClientEvent[];
  readonly model: string;
  readonly instructions: () => string;
  readonly socket: WebSocket;
  send(event: object): void;
  /** The error codes that the client's events caused. */
  readonly errors: string[];
  /** Ends the session at its maximum age: livekit/agents#2358, pollen-robotics/reachy_mini_conversation_app#134. */
  expire(): void;
}

const FRAME_MS = 20;
const LOUD = 700;
const START_FRAMES = 4;
const PREFIX_MS = 300;

export const GREETING =
  'Hello, I am an AI assistant calling from the clinic about your appointment of tomorrow at ten.';
export const BRIDGE = 'Sorry, the line broke for a moment, so let us go on.';
export const ASIDE = 'May I ask whether you are there, or shall we come to an end?';

/** One session of the fake provider, on its socket. */
export function openSession(p: {
  socket: WebSocket;
  model: string;
  turns: ScriptedTurn[];
  nasty: Nastiness;
  later: (act: () => void, ms: number) => void;
}): FakeSession {
  const { socket, turns, nasty, later } = p;
  const events: ClientEvent[] = [];
  const errors: string[] = [];
  /** The ids of the tool calls of the conversation. */
  const calls = new Set<string>();
  const items = new Map<string, ConversationItem | OutputItem>();
  /** How much audio of each item was produced, ms. */
  const produced = new Map<string, number>();
  let instructions = '';
  let silenceMs = 500;
  let answers = true;
  let transcribes = false;
  let count = 0;
  let heardMs = 0;
  let loudFrames = 0;
  let quietMs = 0;
  let speech: { itemId: string } | undefined;
  let activeResponse: ActiveResponse | undefined;
  let greeted = false;
  let toolOutput: string | undefined;
  let lastSystemItem: string | undefined;

  const output = createOutput({
    nasty,
    later,
    produced,
    send: (event) => send(event),
    id: (prefix) => id(prefix),
    terminate: () => socket.terminate(),
    onDone(response) {
      if (activeResponse === response) activeResponse = undefined;
    },
  });
  const session = randomBytes(4).toString('hex');
  const id = (prefix: string) => `${prefix}_${session}${++count}`;

  function send(event: FakeServerEvent): void {
    if (event.type === 'response.output_item.done' && event.item.type === 'function_call')
      calls.add(event.item.call_id);
    if ((event.type === 'conversation.item.added' || event.type === 'conversation.item.done') && 'id' in event.item)
      items.set(String(event.item.id), event.item);
    if (!nasty.hangs && socket.readyState === socket.OPEN)
      socket.send(JSON.stringify({ event_id: id('event'), ...event }));
  }

  function fail(code: string, message: string, eventId?: string, param: string | null = null): void {
    errors.push(code);
    send({ type: 'error', error: { type: 'invalid_request_error', code, message, param, event_id: eventId ?? null } });
  }

  function onEvent(event: ClientEvent): void {
    if (nasty.hangs) return;
    if (event.type === 'input_audio_buffer.append') return onAudio(Buffer.from(event.audio ?? '', 'base64'));
    events.push(event);
    switch (event.type) {
      case 'session.update':
        return updateSession(event);
      case 'input_audio_buffer.commit':
        return speech === undefined
          ? fail('input_audio_buffer_commit_empty', 'buffer too small', event.event_id)
          : endSpeech(false, id('item'));
      case 'conversation.item.create':
        return createItem(event);
      case 'conversation.item.truncate':
        return truncate(event);
      case 'conversation.item.retrieve':
        return retrieve(event);
      case 'response.cancel':
        if (activeResponse === undefined || (event.response_id ?? activeResponse.id) !== activeResponse.id)
          return fail('response_cancel_not_active', 'no active response', event.event_id);
        output.sendLateAudio(activeResponse);
        return output.finish(activeResponse, nasty.failsCancelled ? 'failed' : 'cancelled');
      case 'response.create':
        if (rejects(responseFault(event.response), event)) return undefined;
        if (activeResponse !== undefined) {
          return fail('conversation_already_has_active_response', 'already active', event.event_id);
        }
        return respond(undefined, event.response?.metadata ?? null, event.response?.instructions);
      default:
        return fail('invalid_value', `Invalid value: '${event.type}'`, event.event_id);
    }
  }

  function rejects(fault: ReturnType<typeof itemFault>, { event_id: eventId }: ClientEvent): boolean {
    if (fault !== undefined) fail(fault.code, fault.message, eventId, fault.param);
    return fault !== undefined;
  }

  function createItem(event: ClientEvent): void {
    const { item } = event;
    if (rejects(itemFault(item, calls), event)) return undefined;
    if (item?.type === 'function_call_output') toolOutput = item.output;
    if (item?.role === 'system') lastSystemItem = item.content?.[0]?.text;
    return send({ type: 'conversation.item.added', previous_item_id: null, item: item as ConversationItem });
  }

  function updateSession({ session, event_id: eventId }: ClientEvent): void {
    const beta = Object.keys(session ?? {}).some((key) => /^(input_audio_|output_audio_|modalities|voice)/.test(key));
    const formats = [session?.audio?.input?.format?.type, session?.audio?.output?.format?.type];
    if (session?.type !== 'realtime' || beta || formats.some((type) => type !== undefined && type !== 'audio/pcmu')) {
      return fail('invalid_value', 'Invalid session', eventId);
    }
    const invalid = settingsFault(session, p.model);
    if (invalid !== undefined) return fail(invalid.code, invalid.message, eventId, invalid.param);
    const badTool = toolsFault(session.tools ?? []);
    if (badTool !== undefined) {
      const { code, message, param } = badTool.error;
      return fail(code ?? '', message, eventId, `session.${param}`);
    }
    const { transcription, turn_detection: detection } = session.audio?.input ?? {};
    if (transcription) {
      const fault = nasty.refusesTranscription
        ? { code: 'invalid_model', message: `Model "${transcription.model}" is not supported.`, param: null }
        : transcriptionFault(transcription, detection !== null);
      if (fault !== undefined) {
        fail(fault.code, fault.message, eventId, fault.param);
        // livekit/agents-js issue 1756: OpenAI closes some sockets with this code after the error.
        if (nasty.refusesTranscription === 'closes') socket.close(4000, `invalid_request_error.${fault.code}`);
        return undefined;
      }
    }
    if (transcription !== undefined) transcribes = transcription !== null;
    instructions = session.instructions ?? instructions;
    if (detection !== undefined) {
      silenceMs = Number(detection?.['silence_duration_ms'] ?? silenceMs);
      answers = detection?.['create_response'] !== false;
    }
    return send({ type: 'session.updated', session: { ...session, type: 'realtime' } });
  }

  /** "unless the item does not exist": comment of `ConversationItemRetrieveEvent` in `openai` 7.57.0. */
  function retrieve({ item_id: itemId = '', event_id: eventId }: ClientEvent): void {
    const item = items.get(itemId);
    if (item === undefined) return fail('item_retrieve_invalid_item_id', `Item ${itemId} does not exist.`, eventId);
    return send({ type: 'conversation.item.retrieved', item });
  }

  function truncate(event: ClientEvent): void {
    const ms = produced.get(event.item_id ?? '');
    const asked = event.audio_end_ms ?? Number.NaN;
    if (ms === undefined) return fail('invalid_value', 'no such item with audio', event.event_id);
    if (nasty.refusesTruncation || !(asked <= ms)) {
      const message = `Audio content of ${ms}ms is already shorter than ${asked}ms`;
      return fail('invalid_value', message, event.event_id);
    }
    const { item_id = '', content_index = 0 } = event;
    send({ type: 'conversation.item.truncated', item_id, content_index, audio_end_ms: asked });
  }

  function onAudio(audio: Buffer): void {
    for (let at = 0; at < audio.length; at += 160) {
      const frame = decodeMulaw(audio.subarray(at, at + 160));
      heardMs += FRAME_MS;
      const loudness = Math.sqrt(frame.reduce((sum, x) => sum + x * x, 0) / frame.length);
      loudFrames = loudness > LOUD ? loudFrames + 1 : 0;
      quietMs = loudness > LOUD ? 0 : quietMs + FRAME_MS;
      if (speech === undefined && loudFrames >= START_FRAMES) {
        speech = { itemId: id('item') };
        const startMs = Math.max(0, heardMs - START_FRAMES * FRAME_MS - PREFIX_MS);
        send({ type: 'input_audio_buffer.speech_started', audio_start_ms: startMs, item_id: speech.itemId });
      } else if (speech !== undefined && quietMs >= silenceMs && !nasty.missesTurnEnds) endSpeech(answers);
    }
  }

  /** @param itemId the item of a commit by the client, which is another one than the announced item */
  function endSpeech(createsResponse: boolean, itemId = speech?.itemId): void {
    if (speech === undefined || itemId === undefined) return;
    const { itemId: announced } = speech;
    speech = undefined;
    const turn = turns.shift();
    if (itemId === announced)
      send({ type: 'input_audio_buffer.speech_stopped', audio_end_ms: heardMs, item_id: itemId });
    send({ type: 'input_audio_buffer.committed', previous_item_id: null, item_id: itemId });
    if (transcribes) later(() => sendTranscript(itemId, turn?.hears ?? 'Something was said.'), 60);
    if (!createsResponse) return;
    const waitMs = nasty.stallMs;
    nasty.stallMs = 0;
    if (waitMs === 0) respond(turn, null);
    else later(() => respond(turn, null), waitMs);
  }

  /** Sends the transcript in parts and then as a whole, as the provider does (openai 7.57.0, realtime.d.ts). */
  function sendTranscript(itemId: string, transcript: string): void {
    for (const delta of transcript.match(/\S+\s*/g) ?? []) {
      send({
        type: 'conversation.item.input_audio_transcription.delta',
        item_id: itemId,
        content_index: 0,
        delta,
      });
    }
    send({
      type: 'conversation.item.input_audio_transcription.completed',
      item_id: itemId,
      content_index: 0,
      transcript,
      usage: { type: 'tokens', input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    });
  }

  /**
   * Chooses what the model says. The instructions tell whether the call was resumed; the items tell what the client
   * requested.
   */
  function wordsFor(turn: ScriptedTurn | undefined): string {
    if (toolOutput !== undefined) {
      const words = `I have looked: ${toolOutput}`;
      toolOutput = undefined;
      return words;
    }
    if (turn !== undefined) return turn.says ?? (turn.calls === undefined ? 'I see.' : '');
    if (lastSystemItem !== undefined) {
      lastSystemItem = undefined;
      return ASIDE;
    }
    if (greeted) return 'I see, thank you.';
    return /Do not greet/.test(instructions) ? BRIDGE : GREETING;
  }

  /** @param ownInstructions replace those of the session for this response: `response.create` in OpenAI's API reference */
  function respond(
    turn: ScriptedTurn | undefined,
    metadata: Record<string, string> | null,
    ownInstructions?: string,
  ): void {
    if (socket.readyState !== socket.OPEN) return;
    // The provider drops a reply that it would begin by itself, and says so without the id of an event.
    if (activeResponse !== undefined) return fail('conversation_already_has_active_response', 'already active');
    const current = newResponse(id('resp'), metadata);
    activeResponse = current;
    const words = /^Say exactly .*⟦(.*)⟧$/s.exec(ownInstructions ?? '')?.[1] ?? wordsFor(turn);
    if (nasty.failBeforeCreated > 0) {
      nasty.failBeforeCreated -= 1;
      return output.finish(current, 'failed');
    }
    greeted = true;
    send({ type: 'response.created', response: responseOf(current.id, metadata) });
    send({
      type: 'rate_limits.updated',
      rate_limits: [{ name: 'tokens', limit: 40_000, remaining: 39_000, reset_seconds: 1 }],
    });
    if (nasty.failResponses > 0) {
      nasty.failResponses -= 1;
      return output.finish(current, 'failed');
    }
    if (nasty.emptyResponses > 0) {
      nasty.emptyResponses -= 1;
      return output.finish(current, 'completed');
    }
    const calls = [turn?.calls ?? nasty.everCalls ?? []].flat();
    output.speak(current, words, () => output.callTools(current, calls));
  }

  /** The session's id, which all published examples have, though the SDK's types lack it. */
  const created = (name: string): object => ({ id: name });

  socket.on('message', (data: Buffer) => onEvent(JSON.parse(data.toString('utf8')) as ClientEvent));
  socket.on('error', () => socket.terminate());
  send({ type: 'session.created', session: { ...created(`sess_${session}`), type: 'realtime' } });

  function expire(): void {
    const message = 'Your session hit the maximum duration of 60 minutes.';
    fail('session_expired', message);
    socket.close(1001, message);
  }

  return { events, errors, socket, model: p.model, send, expire, instructions: () => instructions };
}
