import type { Engine } from '../port.js';
import { startScriptedDialogue, type ScriptedCallDeps } from './dialogue.js';

/** The engine of one call: before the line is open it has nothing to do. */
export function createScriptedCall(deps: ScriptedCallDeps & { name: string }): Engine {
  let talking: ReturnType<typeof startScriptedDialogue> | undefined;
  return {
    name: deps.name,
    capabilities: { freeForm: false, dtmf: true },
    start(call, sink) {
      talking = startScriptedDialogue(deps, call, sink);
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
