import { setTimeout as sleep } from 'node:timers/promises';
import type {
  AnsweredBy,
  Engine,
  EngineCall,
  EngineFactory,
  EngineResult,
  EngineSink,
  EngineUsage,
} from '../../../../src/voice/engines/port.js';

/**
 * One call of the scripted engine: what the session called on the engine, and the sink through which the test can
 * speak.
 */
export interface ScriptedCall {
  call: EngineCall;
  sink: EngineSink;
  answeredBy: AnsweredBy[];
  /** Whether the engine accepts the result of the carrier's detection; true if absent. */
  acceptsDetection?: boolean;
  played: { itemId: string; playedMs: number; complete: boolean }[];
  stopped?: string;
  /** The usage so far. */
  usage?: EngineUsage;
  /** How long the engine takes to return its result, ms. */
  stopsAfterMs?: number;
  /** Fields that replace those of the default result. */
  result?: Partial<EngineResult>;
}

/** An engine that the test controls. Without the test, it does nothing. */
export function createScriptedEngine() {
  const calls = new Map<string, ScriptedCall>();

  function create(): Engine {
    let own: ScriptedCall | undefined;
    return {
      name: 'scripted',
      capabilities: { freeForm: true, dtmf: true },
      async start(call, sink) {
        own = { call, sink, answeredBy: [], played: [] };
        calls.set(call.callId, own);
      },
      onCallerAudio: () => undefined,
      onDtmf: () => undefined,
      onPlayed: (itemId, playedMs, complete) => void own?.played.push({ itemId, playedMs, complete }),
      onAnsweredBy(who) {
        own?.answeredBy.push(who);
        return own?.acceptsDetection ?? true;
      },
      usage: () => own?.usage,
      async stop(reason) {
        if (own !== undefined) own.stopped = reason;
        if (own?.stopsAfterMs !== undefined) await sleep(own.stopsAfterMs);
        return { summary: 'Scripted.', outputParameters: own?.call.outputTemplate ?? {}, ...own?.result };
      },
    };
  }

  const factory: EngineFactory = {
    name: 'scripted',
    warm: async () => undefined,
    create,
    close: async () => undefined,
  };
  return { factory, calls };
}
