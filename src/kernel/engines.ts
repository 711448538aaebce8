/** The engines that a call can be conducted by; see docs/conversation.md. */
export const ENGINE_NAMES = ['openai-realtime', 'pipeline', 'offline-demo'] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];
