import type { OpenAiRealtimeSettings } from '../../../platform/config/config.js';
import type { ReplyBudget } from '../../session/reply-budget.js';
import type { ClientEvent } from './protocol.js';
import { answering } from './session-settings.js';

/**
 * Whether the provider answers the caller by itself. It does not once the end of the call is decided, nor while replies
 * are scarce: then it is asked for each.
 */
export function createAnswerMode(deps: {
  settings: OpenAiRealtimeSettings;
  budget: ReplyBudget;
  send: (event: ClientEvent) => void;
}) {
  const { settings, budget, send } = deps;
  let allowed = true;
  let scarce = false;
  /** What the session was told last. */
  let byItself = true;

  function tell(): void {
    if (byItself === (allowed && !scarce)) return;
    byItself = !byItself;
    send({ type: 'session.update', session: answering(settings, byItself) });
  }

  return {
    /** There is another session, which answers by itself. */
    begin(): void {
      byItself = true;
      tell();
    },
    allow(answers: boolean): void {
      allowed = answers;
      tell();
    },
    /** To be called now and then, and after each response. */
    tick(): void {
      scarce = scarce ? !budget.isFull() : !budget.hasPlenty();
      tell();
    },
    isByItself: () => byItself,
  };
}

export type AnswerMode = ReturnType<typeof createAnswerMode>;
