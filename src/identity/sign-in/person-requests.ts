import type { Actor } from '../../kernel/access.js';
import type { ApiContext } from '../../platform/http/context.js';
import { deadlineAfterBody, within } from '../../platform/http/deadline.js';
import type { Auditor } from '../access/audit.js';
import type { ApiKeyDocument } from '../api-keys/model.js';
import type { UserDocument } from '../people/model.js';

/** Passwords are slow on purpose, and slower when many come at once. */
export const ANSWER_WITHIN_MS = 8_000;
/** @throws ServiceError SERVICE_UNAVAILABLE when the answer is due before the work is done */
export function inTime<T>(ctx: ApiContext, work: Promise<T>): Promise<T> {
  return within(deadlineAfterBody(ctx, ANSWER_WITHIN_MS), work);
}

/** Notes the API keys that were revoked with what somebody did. */
export async function auditRevokedKeys(
  auditor: Auditor,
  ctx: ApiContext,
  p: { actor: Actor; keys: readonly ApiKeyDocument[] },
): Promise<void> {
  for (const { accountId, mode, keyId } of p.keys) {
    await auditor(ctx, { accountId, mode, actor: p.actor, action: 'revokeApiKey', target: keyId });
  }
}

/** Somebody who has no session, or not yet. */
export function actorOf({ _id, email, role }: UserDocument): Actor {
  return { kind: 'member', userId: _id, email, role, sessionId: '' };
}

/** Notes what somebody did who has no session, or not yet. */
export async function auditPerson(
  auditor: Auditor,
  ctx: ApiContext,
  user: UserDocument,
  action: string,
): Promise<void> {
  await auditor(ctx, { accountId: user.accountId, mode: 'live', actor: actorOf(user), action });
}
