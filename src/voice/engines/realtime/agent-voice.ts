import { ONE_MOMENT } from '../local-lines.js';
import type { LocalLine, LocalLines } from '../local-lines.js';
import type { EngineSink, TranscriptTurn } from '../port.js';
import type { ClientEvent, ServerEvent } from './protocol.js';
import type { Responses } from './responses.js';
import { createSpokenItems } from './spoken-items.js';
import type { SpokenItem } from './spoken-items.js';

type SpeechEvent = Extract<ServerEvent, { type: `response.output_audio${string}` }>;

/**
 * What the agent says, from the provider or by offline speech, on its way to the line: hands out audio, keeps what was
 * heard of it, and on an interruption tells the provider how far its words have come.
 */
export function createAgentVoice(deps: {
  sink: EngineSink;
  voice: string;
  lines: LocalLines;
  responses: Responses;
  send: (event: ClientEvent) => void;
  now: () => number;
  onTurn: (turn: TranscriptTurn) => void;
  onOver: (item: SpokenItem, complete: boolean) => void;
  /** The first audio of a response was handed to the line. */
  onFirstAudio(): void;
}) {
  const { sink, responses, send, lines } = deps;
  const items = createSpokenItems(deps);
  let localCount = 0;
  let epoch = 0;

  return {
    take(event: SpeechEvent): void {
      const { response_id: responseId, item_id: itemId } = event;
      if (responses.isCancelled(responseId)) return;
      switch (event.type) {
        case 'response.output_audio.delta': {
          const audio = Buffer.from(event.delta, 'base64');
          if (audio.length === 0) return;
          const response = responses.audio(responseId);
          if (response === undefined) return;
          if (!items.audio(itemId, response.purpose.kind, audio.length, event.content_index)) return;
          sink.audio(itemId, audio);
          if (response.isFirst) deps.onFirstAudio();
          return;
        }
        case 'response.output_audio.done':
          if (items.audioDone(itemId)) sink.endOfItem(itemId);
          return;
        case 'response.output_audio_transcript.delta':
          items.words(itemId, responses.kindOf(responseId), event.delta);
          return;
        case 'response.output_audio_transcript.done':
          items.wordsDone(itemId, event.transcript);
      }
    },

    /**
     * Says a line by offline speech, behind what is on the line already.
     * @returns the item's id; undefined when something else happened before the line was ready
     * @throws Error when there is no offline speech
     */
    async sayLocally(line: LocalLine): Promise<string | undefined> {
      const asked = epoch;
      const audio = await lines.audioOf(line, deps.voice);
      if (asked !== epoch) return undefined;
      const id = `local-${++localCount}`;
      items.audio(id, line === ONE_MOMENT ? 'prompt' : 'local', audio.length);
      items.words(id, 'local', line);
      items.wordsDone(id);
      sink.audio(id, audio);
      if (items.audioDone(id)) sink.endOfItem(id);
      return id;
    },

    /** Stops speaking: clears the line, cancels what is being made, and lets the provider forget what nobody heard. */
    cut(): void {
      epoch += 1;
      if (items.isSpeaking()) sink.clear();
      responses.cancel();
      for (const { id, contentIndex, playedMs, producedMs } of items.cut()) {
        if (id.startsWith('local-')) continue;
        const audioEndMs = Math.floor(Math.min(playedMs, producedMs));
        send({
          type: 'conversation.item.truncate',
          item_id: id,
          content_index: contentIndex,
          audio_end_ms: audioEndMs,
        });
      }
    },

    responseDone: () => items.allWorded(),
    played: (itemId: string, playedMs: number, complete: boolean) => items.played(itemId, playedMs, complete),
    /** The provider is gone: what it said so far is all there is. */
    orphan(): void {
      for (const id of items.orphan()) sink.endOfItem(id);
    },
    expire: () => items.expire(),
    isSpeaking: items.isSpeaking,
    turnsSoFar: items.turnsSoFar,
    /** The call is over: what was not heard by now will not be. */
    finish(): void {
      epoch += 1;
      items.cut();
    },
  };
}

export type AgentVoice = ReturnType<typeof createAgentVoice>;
