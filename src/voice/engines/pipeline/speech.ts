import type { EngineSink, TranscriptTurn } from '../port.js';
import type { UsageMeter } from '../engine-usage.js';
import type { ProviderError, TextToSpeech } from './ports.js';
import { openUtterance, type Ended, type Utterance } from './utterance.js';

export interface OpenOptions {
  held?: boolean;
  /** Another than the call's voice: prepared audio. */
  voice?: TextToSpeech;
  onAudio?: () => void;
  onFailed: (error: ProviderError) => void;
  onEnded?: (itemId: string, ended: Ended) => void;
}

export type Speech = ReturnType<typeof createSpeech>;

/** Everything the agent has on the line in one call; what was heard of it goes to the transcript. */
export function createSpeech(p: {
  voice: TextToSpeech;
  voiceName: string;
  language: string;
  sink: EngineSink;
  now: () => number;
  onTurn(turn: TranscriptTurn): void;
}) {
  const live = new Map<string, Utterance>();
  let items = 0;
  let heardAnything = false;
  let filler: Utterance | undefined;
  let lastEndedMs = 0;
  const audible = () => [...live.values()].filter((utterance) => utterance.isAudible());

  function open(options: OpenOptions): Utterance {
    const itemId = `item-${++items}`;
    const utterance = openUtterance({
      itemId,
      voice: options.voice ?? p.voice,
      voiceName: p.voiceName,
      language: p.language,
      sink: p.sink,
      now: p.now,
      held: options.held ?? false,
      events: {
        ...(options.onAudio === undefined ? {} : { onAudio: options.onAudio }),
        onFailed: options.onFailed,
        onEnded(ended) {
          live.delete(itemId);
          lastEndedMs = p.now();
          if (ended.heard !== '') p.onTurn(turnOf(ended));
          options.onEnded?.(itemId, ended);
        },
      },
    });
    live.set(itemId, utterance);
    return utterance;
  }

  return {
    open,
    /** Says one text. */
    say(text: string, options: OpenOptions): Utterance {
      const utterance = open(options);
      utterance.say(text);
      utterance.finish();
      return utterance;
    },
    /** Says one text whose audio is there already. */
    sayPrepared(text: string, mulaw: Uint8Array, onEnded: () => void = () => undefined): void {
      const utterance = open({ voice: preparedVoice(mulaw), onFailed: onEnded, onEnded });
      utterance.say(text);
      utterance.finish();
    },
    /** Says one text whose audio is there, while an answer is being made. */
    fill(text: string, mulaw: Uint8Array): void {
      filler = open({ voice: preparedVoice(mulaw), onFailed: () => undefined });
      filler.say(text);
      filler.finish();
    },
    endFilling: () => filler?.cut(),
    isOnlyFilling: () => audible().length > 0 && audible().every((utterance) => utterance === filler),
    onPlayed(itemId: string, playedMs: number, complete: boolean): void {
      if (playedMs > 0) heardAnything = true;
      live.get(itemId)?.onPlayed(playedMs, complete);
    },
    /** Something is being heard, or will be at once. */
    isSpeaking: () => audible().length > 0,
    /** Whether the far end has heard anything of the agent. */
    heardAnything: () => heardAnything,
    /** To be called now and then: an item whose marks do not come must not hold the call up. */
    endOverdue(): void {
      // The others wait behind it, however long it is.
      const [first] = audible();
      if (first?.isOverdue(lastEndedMs)) first.cut();
    },
    /** Nothing more of anything; the line was cleared before, or is closed. */
    cut({ fillerToo }: { fillerToo: boolean }): void {
      for (const utterance of live.values()) if (fillerToo || utterance !== filler) utterance.cut();
    },
  };
}

function turnOf({ heard, complete, startMs, endMs }: Ended): TranscriptTurn {
  return { speaker: 'agent', text: complete ? heard : `${heard} (interrupted)`, startMs, endMs };
}

/** A voice that has one text to speak and holds its audio already. */
function preparedVoice(mulaw: Uint8Array): TextToSpeech {
  return {
    open(_voice, _language, events) {
      return {
        say: () => undefined,
        finish() {
          events.onAudio(mulaw);
          events.onDone();
        },
        cancel: () => undefined,
      };
    },
  };
}

/** Counts the characters that a voice is given. */
export function meteredVoice(voice: TextToSpeech, usage: UsageMeter): TextToSpeech {
  return {
    open(name, language, events) {
      const stream = voice.open(name, language, events);
      return {
        ...stream,
        say(text) {
          usage.add('voice_characters', text.length);
          stream.say(text);
        },
      };
    },
  };
}
