import type { Engine } from '../port.js';
import { startDialogue, type DialogueDeps } from './dialogue.js';

/** The engine of one call: before the line is open it has nothing to do. */
export function createCallEngine(deps: DialogueDeps & { name: string }): Engine {
  let talking: ReturnType<typeof startDialogue> | undefined;
  return {
    name: deps.name,
    capabilities: { freeForm: false, dtmf: true },
    start(call, sink) {
      talking = startDialogue(deps, call, sink);
      return Promise.resolve();
    },
    onCallerAudio: (frame, timestampMs) => talking?.hear(frame, timestampMs),
    onDtmf: (digit) => talking?.key(digit),
    onPlayed: (itemId, playedMs, complete) => talking?.played(itemId, playedMs, complete),
    onEndingSoon: (secondsLeft) => talking?.endingSoon(secondsLeft),
    onAnsweredBy: (who) => talking?.answeredBy(who),
    stop() {
      if (talking !== undefined) return talking.stop();
      deps.turnTaking.free();
      return Promise.resolve({ summary: 'The call was over before it began.', outputParameters: {} });
    },
  };
}
