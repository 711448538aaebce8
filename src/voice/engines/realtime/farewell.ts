import type { Logger } from '../../../platform/telemetry/logger.js';
import { SESSION_POLICY } from '../../session/reducer/policy.js';
import { SILENT_GOODBYE, SORRY } from '../local-lines.js';
import type { EngineEnd, EngineSink } from '../port.js';
import type { AnswerMode } from './answer-mode.js';
import type { AgentVoice } from './agent-voice.js';
import { textItem } from './protocol.js';
import type { ProviderLink } from './provider-link.js';
import type { Responses } from './responses.js';

/** A model that keeps its last words back for so long, ms, is not waited for. */
const LAST_WORDS_MS = 8_000;

const SAY_GOODBYE_TO_SILENCE =
  'The far end has been silent for long. Say in one sentence that you cannot hear them and will hang up, and goodbye.';

/** How a call is brought to its end: what is said last, that nobody interrupts it, and that the end comes in any case. */
export function createFarewell(deps: {
  sink: EngineSink;
  link: ProviderLink;
  responses: Responses;
  mode: AnswerMode;
  voice: AgentVoice;
  logger: Logger;
  callId: string;
  now: () => number;
}) {
  const { sink, link, responses, mode, voice, now } = deps;
  let leaving = false;
  let over = false;
  /** What happens when the last words do not come. */
  let otherwise: { isDue: () => boolean; act: () => void } | undefined;
  let apology: { itemId: string | undefined; error: Error } | undefined;

  function hangUp(reason: EngineEnd): void {
    if (over) return;
    over = true;
    leaving = true;
    otherwise = undefined;
    sink.end(reason);
  }

  function fail(error: Error): void {
    if (over) return;
    over = true;
    otherwise = undefined;
    sink.fail(error);
  }

  function sayLast(task: string, reason: EngineEnd, withoutModel = () => hangUp(reason)): void {
    leaving = true;
    if (!link.isReady()) return withoutModel();
    answerNoMore();
    otherwise = { isDue: () => responses.waitedMs() > LAST_WORDS_MS, act: withoutModel };
    link.send(textItem('system', task));
    responses.want({ kind: 'reply', onDone: () => hangUp(reason) });
  }

  function settleOtherwise(): void {
    const act = otherwise?.act;
    otherwise = undefined;
    act?.();
  }

  function answerNoMore(): void {
    mode.allow(false);
  }

  function sayGoodbyeLocally(): void {
    voice.cut();
    voice.sayLocally(SILENT_GOODBYE).then(
      () => hangUp('silence'),
      () => hangUp('silence'),
    );
  }

  return {
    /** The end is decided: the caller interrupts no more, and gets no more answers. */
    isLeaving: () => leaving,
    /** The provider hears the caller, but does not answer by itself any more. */
    answerNoMore,
    hangUp,
    sayLast,

    /** Nobody has said anything for long. */
    endSilence(): void {
      if (leaving) return;
      sayLast(SAY_GOODBYE_TO_SILENCE, 'silence', sayGoodbyeLocally);
    },

    /** The model's own goodbye was said, or is on the line. */
    leave(): void {
      leaving = true;
      answerNoMore();
    },

    /** The end was refused: the talk goes on. */
    stay(): void {
      leaving = false;
      mode.allow(true);
    },

    /** The provider went away: its last words are not waited for. */
    providerLost: settleOtherwise,

    /**
     * The provider is gone. Who has heard the agent is told so, then the call fails; who has not is left without a word,
     * so that nobody pays for it.
     */
    apologise(error: Error, agentWasHeard: boolean): void {
      if (over || leaving) return settleOtherwise();
      leaving = true;
      if (!agentWasHeard) return fail(error);
      apology = { itemId: undefined, error };
      const untilMs = now() + SESSION_POLICY.closing.lastLineWithinMs;
      otherwise = { isDue: () => now() > untilMs, act: () => fail(error) };
      voice.sayLocally(SORRY).then(
        (itemId) => {
          if (apology !== undefined) apology.itemId = itemId;
        },
        () => fail(error),
      );
    },

    /** An item is over. */
    heard(itemId: string): void {
      if (apology !== undefined && apology.itemId === itemId) fail(apology.error);
    },

    tick(): void {
      if (otherwise?.isDue()) settleOtherwise();
    },

    stop(): void {
      over = true;
      otherwise = undefined;
    },
  };
}

export type Farewell = ReturnType<typeof createFarewell>;
