import { SESSION_POLICY } from './reducer/policy.js';
import { hasPlenty, hasRoom, leftAt, withOneTaken } from './reducer/reply-budget.js';

export type ReplyBudget = ReturnType<typeof createReplyBudget>;

/**
 * Counts the replies of a call whose session is not reduced.
 * @param now ms since the conversation began
 */
export function createReplyBudget(now: () => number) {
  const policy = SESSION_POLICY.replies;
  let count = { left: policy.atOnce, atMs: now() };
  return {
    /** Whether the caller may be answered now. */
    hasRoom: () => hasRoom(count, policy, now()),
    /** Whether there is more than is kept for callers who have certainly finished. */
    hasPlenty: () => hasPlenty(count, policy, now()),
    /** Whether replies are not scarce any more. */
    isFull: () => leftAt(count, policy, now()) >= policy.atOnce - policy.reserve,
    /** The model is asked for a reply, or makes one by itself. */
    take(): void {
      count = withOneTaken(count, policy, now());
    },
  };
}
