import type { TurnTaking } from '../session/turn-taking.js';
import type { Engine, EngineCall, EngineSink } from './port.js';

/** A running session of an engine. */
interface EngineSession {
  onCallerAudio: Engine['onCallerAudio'];
  onDtmf: Engine['onDtmf'];
  onText: NonNullable<Engine['onText']>;
  onPlayed: Engine['onPlayed'];
  onEndingSoon: NonNullable<Engine['onEndingSoon']>;
  onAnsweredBy: NonNullable<Engine['onAnsweredBy']>;
  usage?: NonNullable<Engine['usage']>;
  stop(): ReturnType<Engine['stop']>;
}

/**
 * Adapts a session to the `Engine` interface. Input before `start` is ignored.
 * @param options.turnTaking freed by the session, or by `stop` if no session was started
 */
export function createSessionEngine(
  options: Pick<Engine, 'name' | 'capabilities'> & {
    turnTaking: TurnTaking;
    startSession(call: EngineCall, sink: EngineSink): EngineSession;
  },
): Engine {
  let session: EngineSession | undefined;
  return {
    name: options.name,
    capabilities: options.capabilities,
    start(call, sink) {
      session = options.startSession(call, sink);
      return Promise.resolve();
    },
    onCallerAudio: (frame, timestampMs) => session?.onCallerAudio(frame, timestampMs),
    onDtmf: (digit) => session?.onDtmf(digit),
    onText: (text) => session?.onText(text),
    onPlayed: (itemId, playedMs, complete) => session?.onPlayed(itemId, playedMs, complete),
    onEndingSoon: (secondsLeft) => session?.onEndingSoon(secondsLeft),
    onAnsweredBy: (who) => session?.onAnsweredBy(who) ?? true,
    usage: () => session?.usage?.(),
    stop() {
      if (session !== undefined) return session.stop();
      options.turnTaking.free();
      return Promise.resolve({ summary: 'The call was over before it began.', outputParameters: {} });
    },
  };
}
