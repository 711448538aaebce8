import type { TurnTaking } from '../session/turn-taking.js';
import type { Engine, EngineCall, EngineSink } from './port.js';

/** A running session of an engine. */
interface Talk {
  hear: Engine['onCallerAudio'];
  key: Engine['onDtmf'];
  played: Engine['onPlayed'];
  endingSoon: NonNullable<Engine['onEndingSoon']>;
  answeredBy: NonNullable<Engine['onAnsweredBy']>;
  stop(): ReturnType<Engine['stop']>;
}

/**
 * Adapts a session to the `Engine` interface; before `start` it ignores all input.
 * @param p.turnTaking freed by the session, or by `stop` if there was none
 */
export function createEngineOfTalk(
  p: Pick<Engine, 'name' | 'capabilities'> & {
    turnTaking: TurnTaking;
    begin(call: EngineCall, sink: EngineSink): Talk;
  },
): Engine {
  let talk: Talk | undefined;
  return {
    name: p.name,
    capabilities: p.capabilities,
    start(call, sink) {
      talk = p.begin(call, sink);
      return Promise.resolve();
    },
    onCallerAudio: (frame, timestampMs) => talk?.hear(frame, timestampMs),
    onDtmf: (digit) => talk?.key(digit),
    onPlayed: (itemId, playedMs, complete) => talk?.played(itemId, playedMs, complete),
    onEndingSoon: (secondsLeft) => talk?.endingSoon(secondsLeft),
    onAnsweredBy: (who) => talk?.answeredBy(who),
    stop() {
      if (talk !== undefined) return talk.stop();
      p.turnTaking.free();
      return Promise.resolve({ summary: 'The call was over before it began.', outputParameters: {} });
    },
  };
}
