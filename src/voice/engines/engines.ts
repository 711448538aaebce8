import type { StreamedCall } from '../call-reader.js';
import type { EngineFactory } from './port.js';

/** The engines of a media process. */
export interface Engines {
  /** The engine for a call: the agent's choice, else the configured one; in test mode always the offline engine. */
  of(request: Pick<StreamedCall, 'mode' | 'agent'>): EngineFactory;
  warm(): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param p.byDefault for live calls whose agent names no engine, or one that this process does not have
 * @param p.forTests needs no provider account and costs nothing
 */
export function createEngines(p: {
  byDefault: EngineFactory;
  forTests: EngineFactory;
  more?: readonly EngineFactory[];
}): Engines {
  const all = new Map([p.byDefault, p.forTests, ...(p.more ?? [])].map((factory) => [factory.name, factory]));

  return {
    of({ mode, agent }) {
      if (mode === 'test') return p.forTests;
      return all.get(agent.engine ?? p.byDefault.name) ?? p.byDefault;
    },
    async warm() {
      await Promise.all(Array.from(all.values(), (factory) => factory.warm()));
    },
    async close() {
      await Promise.all(Array.from(all.values(), (factory) => factory.close()));
    },
  };
}
