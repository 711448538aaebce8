import type { SessionPolicy } from './policy.js';

/** How many replies a call had left at a certain time. */
export interface ReplyCount {
  left: number;
  atMs: number;
}

type RepliesPolicy = SessionPolicy['replies'];
/** Tolerance in replies for rounding errors, because times are fractional. */
const ROUNDING = 1e-6;

/*
 * Limits the replies of a call. Each reply sends the prompt and the chat history to the model again, which the operator
 * pays for, while the call is billed by the second. So the number of available replies grows with time. If none is
 * available, a reply waits.
 */

export function budgetAt({ left, atMs }: ReplyCount, policy: RepliesPolicy, nowMs: number): number {
  return Math.min(policy.atOnce, left + (nowMs - atMs) / policy.oneMoreAfterMs);
}

/** Whether a reply can begin now. */
export function hasBudget(count: ReplyCount, policy: RepliesPolicy, nowMs: number): boolean {
  return budgetAt(count, policy, nowMs) >= 1 - ROUNDING;
}

/** Whether more replies are left than the reserve. Only then may a reply begin before the end of a turn. */
export function hasMoreThanReserve(count: ReplyCount, policy: RepliesPolicy, nowMs: number): boolean {
  return budgetAt(count, policy, nowMs) >= policy.reserve + 1 - ROUNDING;
}

/** Subtracts replies from the budget, which may become negative, because some replies cannot wait. */
export function chargeReplies(count: ReplyCount, policy: RepliesPolicy, nowMs: number, charged = 1): ReplyCount {
  return { left: budgetAt(count, policy, nowMs) - charged, atMs: nowMs };
}

/** When the next reply can begin. */
export function budgetDueMs({ left, atMs }: ReplyCount, policy: RepliesPolicy): number {
  return atMs + Math.max(0, 1 - left) * policy.oneMoreAfterMs;
}
