import { encodeMulaw } from '../../../../src/voice/audio/mulaw.js';
import type { ToolCall } from '../../../../src/voice/engines/port.js';
import {
  FAILED,
  functionCall,
  responseOf,
  spokenMessage,
  USAGE,
  type FakeServerEvent,
  type Nastiness,
  type OutputItem,
} from './openai-realtime-events';

const WORD_MS = 250;
/** Time for sent data to arrive at the client. */
const ARRIVAL_MS = 200;
const DELTA_MS = 200;

export interface ActiveResponse {
  id: string;
  metadata: Record<string, string> | null;
  output: OutputItem[];
  /** The id of the item that is being spoken. */
  itemId: string;
  done: boolean;
}

export function newResponse(id: string, metadata: ActiveResponse['metadata']): ActiveResponse {
  return { id, metadata, output: [], itemId: '', done: false };
}

/** Sends the events of responses: items, their parts, audio and tool calls. */
export function createOutput(p: {
  nasty: Nastiness;
  later: (act: () => void, ms: number) => void;
  /** How much audio of each item was produced, ms. */
  produced: Map<string, number>;
  send: (event: FakeServerEvent) => void;
  id: (prefix: string) => string;
  terminate: () => void;
  onDone: (response: ActiveResponse) => void;
}) {
  const { nasty, produced, send, id } = p;

  const partOf = ({ id: response_id, output, itemId: item_id }: ActiveResponse) => ({
    response_id,
    item_id,
    output_index: output.length,
    content_index: 0,
  });

  /** Speaks one item or, with `splitsItems`, two. */
  function speak(current: ActiveResponse, words: string, then: () => void): void {
    const list = words.split(' ').filter(Boolean);
    if (list.length === 0) return then();
    const middle = nasty.splitsItems ? Math.ceil(list.length / 2) : list.length;
    const [first, second] = [list.slice(0, middle), list.slice(middle)];
    return speakItem(current, first, () => (second.length === 0 ? then() : speakItem(current, second, then)));
  }

  function speakItem(current: ActiveResponse, list: readonly string[], then: () => void): void {
    const item = spokenMessage(id('item'));
    current.itemId = item.id;
    const part = partOf(current);
    const words = list.join(' ');
    const totalMs = list.length * WORD_MS;
    let sentMs = 0;
    let deltas = 0;
    send({ type: 'response.output_item.added', response_id: current.id, output_index: part.output_index, item });
    send({ type: 'conversation.item.added', previous_item_id: null, item });
    send({ type: 'response.content_part.added', ...part, part: { type: 'audio', transcript: '' } });

    function end(): void {
      send({ type: 'response.output_audio.done', ...part });
      const transcript = () => send({ type: 'response.output_audio_transcript.done', ...part, transcript: words });
      if (nasty.lateTranscripts) p.later(transcript, 300);
      else transcript();
      send({ type: 'response.content_part.done', ...part, part: { type: 'audio', transcript: words } });
      endItem(current, spokenMessage(item.id, words));
      then();
    }

    const next = (): void => {
      if (current.done) return undefined;
      if (sentMs >= totalMs) return end();
      const ms = Math.min(DELTA_MS, totalMs - sentMs);
      const from = Math.floor(sentMs / WORD_MS);
      sentMs += ms;
      produced.set(item.id, sentMs);
      const heard = list.slice(from, Math.floor(sentMs / WORD_MS));
      if (heard.length > 0) {
        send({ type: 'response.output_audio_transcript.delta', ...part, delta: `${heard.join(' ')} ` });
      }
      send({ type: 'response.output_audio.delta', ...part, delta: tone(ms).toString('base64') });
      deltas += 1;
      if (nasty.closeAfterDeltas !== undefined && deltas >= nasty.closeAfterDeltas) {
        nasty.closeAfterDeltas = undefined;
        // The end of a connection may overtake data that the client has not read.
        return p.later(() => p.terminate(), ARRIVAL_MS);
      }
      return nasty.speed === 0 ? next() : p.later(next, ms / nasty.speed);
    };
    next();
  }

  function endItem(current: ActiveResponse, item: OutputItem): void {
    const place = { response_id: current.id, output_index: current.output.length };
    send({ type: 'response.output_item.done', ...place, item });
    send({ type: 'conversation.item.done', previous_item_id: null, item });
    current.output.push(item);
  }

  function finish(current: ActiveResponse, status: 'completed' | 'cancelled' | 'failed'): void {
    if (current.done) return;
    current.done = true;
    p.onDone(current);
    const { id: responseId, metadata, output } = current;
    const response = { ...responseOf(responseId, metadata), status, output, usage: USAGE };
    send({ type: 'response.done', response: status === 'failed' ? { ...response, ...FAILED } : response });
  }

  return {
    speak,
    finish,

    /** Calls the tools, if any, and completes the response. */
    callTools(current: ActiveResponse, calls: readonly ToolCall[]): void {
      for (const call of calls) {
        const item = functionCall(call, id('item'));
        const place = { response_id: current.id, output_index: current.output.length };
        const { id: item_id, call_id, name, arguments: given } = item;
        send({ type: 'response.output_item.added', ...place, item: { ...item, arguments: '' } });
        for (const delta of given.match(/.{1,5}/gs) ?? [])
          send({ type: 'response.function_call_arguments.delta', ...place, item_id, call_id, delta });
        send({ type: 'response.function_call_arguments.done', ...place, item_id, call_id, name, arguments: given });
        endItem(current, item);
      }
      finish(current, 'completed');
    },

    /** Sends the audio that was produced before the cancellation arrived. */
    sendLateAudio(current: ActiveResponse): void {
      const ms = produced.get(current.itemId);
      if (ms === undefined) return;
      produced.set(current.itemId, ms + 2 * DELTA_MS);
      for (let times = 0; times < 2; times += 1) {
        const part = partOf(current);
        send({ type: 'response.output_audio_transcript.delta', ...part, delta: 'late ' });
        send({ type: 'response.output_audio.delta', ...part, delta: tone(DELTA_MS).toString('base64') });
      }
    },
  };
}

/** A tone of 300 Hz, loud enough to count as speech. */
function tone(ms: number): Buffer {
  const pcm = Int16Array.from({ length: ms * 8 }, (_, i) =>
    Math.round(8_000 * Math.sin((2 * Math.PI * 300 * i) / 8_000)),
  );
  return Buffer.from(encodeMulaw(pcm));
}
