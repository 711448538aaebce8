import type { SessionPolicy } from './policy.js';

/** Replies that a call may still have, counted at a time. */
export interface ReplyCount {
  left: number;
  atMs: number;
}

type RepliesPolicy = SessionPolicy['replies'];
/** Of a reply; times are no whole numbers. */
const ROUNDING = 1e-6;

/*
 * For each reply the model reads the prompt and the conversation again, at the operator's cost, while the call is paid by
 * the minute: so their number grows with the conversation. An answer that finds no room waits for it.
 */

export function leftAt({ left, atMs }: ReplyCount, policy: RepliesPolicy, nowMs: number): number {
  return Math.min(policy.atOnce, left + (nowMs - atMs) / policy.oneMoreAfterMs);
}

/** Whether the caller may be answered now. */
export function hasRoom(count: ReplyCount, policy: RepliesPolicy, nowMs: number): boolean {
  return leftAt(count, policy, nowMs) >= 1 - ROUNDING;
}

/** Whether there is more than is kept for callers who have certainly finished: only then is a reply begun early. */
export function hasPlenty(count: ReplyCount, policy: RepliesPolicy, nowMs: number): boolean {
  return leftAt(count, policy, nowMs) >= policy.reserve + 1 - ROUNDING;
}

/** The model is asked for a reply; also for one that cannot wait for room. */
export function withOneTaken(count: ReplyCount, policy: RepliesPolicy, nowMs: number): ReplyCount {
  return { left: leftAt(count, policy, nowMs) - 1, atMs: nowMs };
}

/** When there is room for a reply. */
export function roomAtMs({ left, atMs }: ReplyCount, policy: RepliesPolicy): number {
  return atMs + Math.max(0, 1 - left) * policy.oneMoreAfterMs;
}
