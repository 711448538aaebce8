import type { ApiContext } from '../../platform/http/context.js';
import { deadlineAfterBody, within } from '../../platform/http/deadline.js';
import type { Auditor } from '../access/audit.js';
import type { UserDocument } from '../people/model.js';

/** Passwords are slow on purpose, and slower when many come at once. */
export const ANSWER_WITHIN_MS = 8_000;
/** @throws ServiceError SERVICE_UNAVAILABLE when the answer is due before the work is done */
export function inTime<T>(ctx: ApiContext, work: Promise<T>): Promise<T> {
  return within(deadlineAfterBody(ctx, ANSWER_WITHIN_MS), work);
}

/** Notes what somebody did who has no session, or not yet. */
export async function auditPerson(
  auditor: Auditor,
  ctx: ApiContext,
  user: UserDocument,
  action: string,
): Promise<void> {
  const actor = { kind: 'member', userId: user._id, email: user.email, role: user.role, sessionId: '' } as const;
  await auditor(ctx, { accountId: user.accountId, mode: 'live', actor, action });
}
