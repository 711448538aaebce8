/**
 * Roles of members. An owner may do everything; a developer everything except manage members, keys and account
 * settings; a viewer may only read.
 */
export const ROLES = ['owner', 'developer', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** The sender of a request: an API key of the account, or a member with a portal session. */
export type Actor =
  | { kind: 'key'; keyId: string; name: string }
  | { kind: 'member'; userId: string; email: string; role: Role; sessionId: string };

/**
 * Whether a member of this role may use an operation. Without `roles`, every role may read, and owners and developers
 * may write.
 */
export function mayUse(role: Role, operation: { method: string; roles?: readonly Role[] }): boolean {
  const allowed = operation.roles ?? (operation.method === 'get' ? ROLES : ['owner', 'developer']);
  return allowed.includes(role);
}
