import { createIgnoredSettings } from './ignored-settings.js';
import type { Engine, EngineFactory } from './port.js';

/**
 * Lets an engine use only the models that the operator allows. An agent that was saved with another one, which was allowed
 * then, gets the engine's own model, and the result names the setting as ignored.
 */
export function withAllowedModels(factory: EngineFactory, allowed: 'any' | readonly string[]): EngineFactory {
  if (allowed === 'any') return factory;
  return { ...factory, create: () => limitModels(factory.create(), allowed) };
}

function limitModels(engine: Engine, allowed: readonly string[]): Engine {
  const ignored = createIgnoredSettings();
  return {
    ...engine,
    start(call, sink) {
      const { model, ...others } = call.settings ?? {};
      if (model === undefined || allowed.includes(model)) return engine.start(call, sink);
      ignored.add(['model']);
      return engine.start({ ...call, settings: others }, sink);
    },
    async stop(reason) {
      const result = await engine.stop(reason);
      ignored.add(result.ignoredSettings ?? []);
      return { ...result, ...ignored.inResult() };
    },
  };
}
