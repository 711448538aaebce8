import type { CONVERSATION_FIELDS } from '../../src/agents/fields/conversation-fields.js';

/** A valid value for every setting of a conversation, by public name. */
export const EVERY_SETTING = {
  first_speaker: 'caller',
  first_message: 'Hello {{customer}}.',
  model: 'gpt-6-luna',
  temperature: 0.7,
  reasoning_effort: 'low',
  voice_id: 'coral',
  speech_speed: 1.1,
  background_sound: 'office',
  pronunciations: [{ text: 'Nginx', spoken: 'engine X' }],
  keyterms: ['Callwright', 'Dr. Nguyen'],
  noise_reduction: 'near_field',
  vad_threshold: 0.6,
  end_of_turn_silence_ms: 700,
  end_of_turn_eagerness: 'high',
  end_of_turn_confidence: 0.8,
  interruption_min_ms: 400,
  interruption_min_words: 2,
  resume_after_noise: true,
} as const satisfies Record<keyof typeof CONVERSATION_FIELDS, unknown>;
