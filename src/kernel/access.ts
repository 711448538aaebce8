/** What a member may do: an owner everything, a developer all but members, keys and account settings, a viewer only read. */
export const ROLES = ['owner', 'developer', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** Who asks: an API key of the account, or a member by a session of the portal. */
export type Actor =
  | { kind: 'key'; keyId: string; name: string }
  | { kind: 'member'; userId: string; email: string; role: Role; sessionId: string };

/** Whether a member of this role may use an operation. Where nothing is said, all read and all but viewers change. */
export function mayUse(role: Role, operation: { method: string; roles?: readonly Role[] }): boolean {
  const allowed = operation.roles ?? (operation.method === 'get' ? ROLES : ['owner', 'developer']);
  return allowed.includes(role);
}
