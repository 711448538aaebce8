export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export const EAGERNESS_LEVELS = ['low', 'medium', 'high', 'auto'] as const;
export const NOISE_REDUCTIONS = ['off', 'near_field', 'far_field'] as const;
export const BACKGROUND_SOUNDS = ['off', 'room', 'office'] as const;
export const FIRST_SPEAKERS = ['agent', 'caller'] as const;

/** How a word or abbreviation is spoken. */
export interface Pronunciation {
  /** The word as it is written, for example `Nginx`. */
  text: string;
  /** The word as it is spoken, for example `engine X`. */
  spoken: string;
}

/** How an agent hears, thinks and speaks. An unset field means the default of the service or of the provider. */
export interface ConversationSettings {
  /** Language model of the `pipeline` engine, or speech-to-speech model of `openai-realtime`. */
  model?: string;
  temperature?: number;
  reasoningEffort?: (typeof REASONING_EFFORTS)[number];
  /** The TTS provider's id of a voice, instead of the one for the agent's `voice`. */
  voiceId?: string;
  /** Factor of the speed of speech; 1 is the usual speed. */
  speechSpeed?: number;
  /** Names and terms that STT should recognize. */
  keyterms?: readonly string[];
  /** Silence that ends the caller's turn, in ms. */
  endOfTurnSilenceMs?: number;
  /** How soon a provider that detects the end of a turn by meaning ends it. */
  endOfTurnEagerness?: (typeof EAGERNESS_LEVELS)[number];
  /** How confident Flux must be that the turn has ended, from 0.5 to 0.9. */
  endOfTurnConfidence?: number;
  /** How certain voice activity detection must be that it hears speech, from 0 to 1. */
  vadThreshold?: number;
  /** How long the caller must speak to interrupt the agent, in ms. */
  interruptionMinMs?: number;
  /** How many words the caller must say to interrupt the agent. */
  interruptionMinWords?: number;
  /** Whether the agent continues its sentence if an interruption turns out to be noise. */
  resumeAfterNoise?: boolean;
  noiseReduction?: (typeof NOISE_REDUCTIONS)[number];
  /** The sound behind the agent's voice and in its pauses. */
  backgroundSound?: (typeof BACKGROUND_SOUNDS)[number];
  /** The party that speaks first. */
  firstSpeaker?: (typeof FIRST_SPEAKERS)[number];
  /** The agent’s first words, said exactly; `{{name}}` inserts an input parameter. */
  firstMessage?: string;
  pronunciations?: readonly Pronunciation[];
}
