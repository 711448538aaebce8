import type { TurnTaking } from '../session/turn-taking.js';
import type { Engine, EngineCall, EngineSink } from './port.js';

/** What conducts a call once its line is open. */
interface Talk {
  hear: Engine['onCallerAudio'];
  key: Engine['onDtmf'];
  played: Engine['onPlayed'];
  endingSoon: NonNullable<Engine['onEndingSoon']>;
  answeredBy: NonNullable<Engine['onAnsweredBy']>;
  stop(): ReturnType<Engine['stop']>;
}

/**
 * The engine of one call: before the line is open it has nothing to do.
 * @param p.turnTaking freed by the talk, or here when there was none
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
