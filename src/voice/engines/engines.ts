import type { StreamedCall } from '../call-reader.js';
import type { EngineFactory } from './port.js';

/** The engines of a media process. */
export interface Engines {
  /** The engine for a call: the agent's choice, else the configured one; in test mode always the offline engine. */
  engineFor(request: Pick<StreamedCall, 'mode' | 'agent'>): EngineFactory;
  warm(): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param options.defaultEngine for live calls whose agent names no engine, or one that this process does not have
 * @param options.testEngine for test calls; needs no provider account and costs nothing
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
      if (mode === 'test') return options.testEngine;
      return all.get(agent.engine ?? options.defaultEngine.name) ?? options.defaultEngine;
    },
    async warm() {
      await Promise.all(Array.from(all.values(), (factory) => factory.warm()));
    },
    async close() {
      await Promise.all(Array.from(all.values(), (factory) => factory.close()));
    },
  };
}
