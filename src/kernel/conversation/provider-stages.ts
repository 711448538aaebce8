/** The stages of a conversation that providers serve, by the names under which times and failures are stored. */
export const PROVIDER_STAGES = { recogniser: 'stt', model: 'llm', voice: 'tts' } as const;
