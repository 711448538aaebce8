import type { SessionPolicy } from './policy.js';

/** Remaining replies of a call at a time. */
export interface ReplyCount {
  left: number;
  atMs: number;
}

type RepliesPolicy = SessionPolicy['replies'];
/** Tolerance, in replies, because times are fractional. */
const ROUNDING = 1e-6;

/*
 * Limits the replies of a call: each one sends the prompt and the chat history to the model again, at the operator's
 * cost, while the call is billed by the minute. The budget grows with time, and a reply without budget waits for it.
 */

export function leftAt({ left, atMs }: ReplyCount, policy: RepliesPolicy, nowMs: number): number {
  return Math.min(policy.atOnce, left + (nowMs - atMs) / policy.oneMoreAfterMs);
}

/** Whether a reply can begin now. */
export function hasRoom(count: ReplyCount, policy: RepliesPolicy, nowMs: number): boolean {
  return leftAt(count, policy, nowMs) >= 1 - ROUNDING;
}

/** Whether more than the reserve is left; only then does a reply begin early. */
export function hasPlenty(count: ReplyCount, policy: RepliesPolicy, nowMs: number): boolean {
  return leftAt(count, policy, nowMs) >= policy.reserve + 1 - ROUNDING;
}

/** Charges one reply, even one that cannot wait for budget. */
export function withOneTaken(count: ReplyCount, policy: RepliesPolicy, nowMs: number): ReplyCount {
  return { left: leftAt(count, policy, nowMs) - 1, atMs: nowMs };
}

/** When the next reply can begin. */
export function roomAtMs({ left, atMs }: ReplyCount, policy: RepliesPolicy): number {
  return atMs + Math.max(0, 1 - left) * policy.oneMoreAfterMs;
}
