/** Engines that can conduct a call; see docs/engines.md. */
export const ENGINE_NAMES = ['openai-realtime', 'pipeline', 'offline-demo'] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];
