import type { Actor } from '../../kernel/access.js';
import type { ApiContext } from '../../platform/http/context.js';
import { deadlineAfterBody, within } from '../../platform/http/deadline.js';
import type { Auditor } from '../access/audit.js';
import type { ApiKeyDocument } from '../api-keys/model.js';
import type { UserDocument } from '../people/model.js';

/** Response time limit: password hashing is slow on purpose, and slower under load. */
export const ANSWER_WITHIN_MS = 8_000;
/** @throws ServiceError SERVICE_UNAVAILABLE if the work is not done by the response deadline */
export function inTime<T>(ctx: ApiContext, work: Promise<T>): Promise<T> {
  return within(deadlineAfterBody(ctx, ANSWER_WITHIN_MS), work);
}

/** Records revoked API keys in the audit log. */
export async function auditRevokedKeys(
  auditor: Auditor,
  ctx: ApiContext,
  p: { actor: Actor; keys: readonly ApiKeyDocument[] },
): Promise<void> {
  for (const { accountId, mode, keyId } of p.keys) {
    await auditor(ctx, { accountId, mode, actor: p.actor, action: 'revokeApiKey', target: keyId });
  }
}

/** The actor of a request without a session. */
export function actorOf({ _id, email, role }: UserDocument): Actor {
  return { kind: 'member', userId: _id, email, role, sessionId: '' };
}

/** Records an action without a session in the audit log. */
export async function auditPerson(
  auditor: Auditor,
  ctx: ApiContext,
  user: UserDocument,
  action: string,
): Promise<void> {
  await auditor(ctx, { accountId: user.accountId, mode: 'live', actor: actorOf(user), action });
}
