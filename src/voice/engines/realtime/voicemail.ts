import { listenForTone } from '../../session/mailbox-tone.js';
import type { AnsweredBy, EngineCall } from '../port.js';
import { SESSION_POLICY } from '../../session/reducer/policy.js';
import { filled } from '../../session/prompt.js';
import { watchesForMachines } from './session-settings.js';

/** Who answered, and what that leads to: hanging up or leaving a message, once in a call. */
export function createVoicemail(deps: {
  call: EngineCall;
  now: () => number;
  /** A machine was heard: nothing more is said to it as to a person. */
  onMachine(action: 'hang_up' | 'leave_message'): void;
  /** It is quiet: to be said now. */
  onSpeak(task: string): void;
}) {
  const { call, now } = deps;
  const tone = listenForTone(call.voicemail.action);
  let carrierSays: AnsweredBy | undefined;
  let heard = false;
  let waitingSinceMs: number | undefined;
  let quietSinceMs = 0;

  function machine(): void {
    if (heard || !watchesForMachines(call)) return;
    heard = true;
    const { action } = call.voicemail;
    if (action === 'continue') return;
    quietSinceMs = now();
    if (action === 'leave_message') waitingSinceMs = now();
    deps.onMachine(action);
  }

  return {
    hear: (frame: Uint8Array, timestampMs: number) => tone.hear(frame, timestampMs),

    /** The model hears one. */
    heardMachine: machine,

    onAnsweredBy(who: AnsweredBy): void {
      carrierSays = who;
      if (who === 'voicemail') machine();
    },

    /** To be told every 200 ms whether the far end speaks. */
    tick(farEndSpeaks: boolean): void {
      if (waitingSinceMs === undefined) return;
      if (farEndSpeaks) quietSinceMs = now();
      const isQuiet = now() - quietSinceMs >= tone.quietBeforeMessageMs(carrierSays === 'voicemail');
      if (!isQuiet && now() - waitingSinceMs < SESSION_POLICY.voicemail.greetingWithinMs) return;
      waitingSinceMs = undefined;
      const { message } = call.voicemail;
      deps.onSpeak(
        message === undefined
          ? 'The mailbox records now. Say in two sentences who calls and why, then goodbye. Do not wait for an answer.'
          : `The mailbox records now. Say exactly the following and nothing else: ⟦${filled(message, call.inputParameters).replace(/[⟦⟧]/g, '')}⟧`,
      );
    },

    isMachine: () => heard,
    /** @param conversed the far end has answered what it was asked */
    answeredBy(conversed: boolean): AnsweredBy {
      if (heard || carrierSays === 'voicemail') return 'voicemail';
      if (carrierSays === 'human' || conversed) return 'human';
      return 'unknown';
    },
  };
}
