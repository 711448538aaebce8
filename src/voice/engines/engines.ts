import type { StreamedCall } from '../call-reader.js';
import type { EngineFactory } from './port.js';

/** The engines of a media process. */
export interface Engines {
  /** The engine for a call: the agent's choice, else that of the mode. A free engine of test mode has all test calls. */
  engineFor(request: Pick<StreamedCall, 'mode' | 'agent'>): EngineFactory;
  warm(): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param options.defaultEngine for live calls whose agent names no engine, or one that this process does not have
 * @param options.testEngine for test calls whose agent names no engine, and if it is `offline-demo`, for all test calls
 */
export function createEngines(options: {
  defaultEngine: EngineFactory;
  testEngine: EngineFactory;
  otherEngines?: readonly EngineFactory[];
}): Engines {
  const all = new Map(
    [options.defaultEngine, options.testEngine, ...(options.otherEngines ?? [])].map((factory) => [
      factory.name,
      factory,
    ]),
  );

  return {
    engineFor({ mode, agent }) {
      const byDefault = mode === 'test' ? options.testEngine : options.defaultEngine;
      // If test calls cost nothing, an agent cannot choose an engine that costs something.
      if (mode === 'test' && byDefault.name === 'offline-demo') return byDefault;
      return all.get(agent.engine ?? byDefault.name) ?? byDefault;
    },
    async warm() {
      await Promise.all(Array.from(all.values(), (factory) => factory.warm()));
    },
    async close() {
      await Promise.all(Array.from(all.values(), (factory) => factory.close()));
    },
  };
}
