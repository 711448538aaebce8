/** Engines that can conduct a call; see docs/conversation.md. */
export const ENGINE_NAMES = ['openai-realtime', 'pipeline', 'offline-demo'] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];
