import type { Actor } from '../../kernel/access.js';
import type { ApiContext } from '../../platform/http/context.js';
import { deadlineAfterBody, withDeadline } from '../../platform/http/deadline.js';
import type { Auditor } from '../access/audit.js';
import type { ApiKeyDocument } from '../api-keys/model.js';
import type { UserDocument } from '../people/model.js';

/** Time limit of responses that depend on hashing a password, which is slow on purpose, and slower under load. */
export const RESPONSE_TIMEOUT_MS = 8_000;
/** @throws ServiceError SERVICE_UNAVAILABLE if the work is not done by the response deadline */
export function inTime<T>(ctx: ApiContext, work: Promise<T>): Promise<T> {
  return withDeadline(deadlineAfterBody(ctx, RESPONSE_TIMEOUT_MS), work);
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

/** Returns the actor of a request that has no session. */
export function actorOf({ _id, email, role }: UserDocument): Actor {
  return { kind: 'member', userId: _id, email, role, sessionId: '' };
}

/** Records in the audit log what a person did without a session. */
export async function auditPerson(
  auditor: Auditor,
  ctx: ApiContext,
  user: UserDocument,
  action: string,
): Promise<void> {
  await auditor(ctx, { accountId: user.accountId, mode: 'live', actor: actorOf(user), action });
}
