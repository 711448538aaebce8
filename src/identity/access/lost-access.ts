import type { IdentityDatabase } from '../database.js';
import { createLoginSessions } from '../people/login-sessions.js';
import type { Principal } from './principal.js';

export type LostAccess = ReturnType<typeof createLostAccess>;

/** Returns what gives a principal its access: the id of its key, or of its session. */
export function accessIdOf({ actor }: Principal): string {
  return actor.kind === 'key' ? actor.keyId : actor.sessionId;
}

/** Finds keys and sessions that have lost their access to an account. */
export function createLostAccess(database: IdentityDatabase) {
  const sessions = createLoginSessions(database);
  return {
    /**
     * Returns those of the ids that belong to a revoked key, or to a session that has ended: by logging out, by a new password, or
     * because the member was removed. An expired key has not lost its access in this sense: its end was planned, and what
     * it has begun may end as usual.
     * @param ids see `accessIdOf`
     */
    async among(ids: readonly string[]): Promise<Set<string>> {
      const all = [...new Set(ids)];
      const keyIds = all.filter(isKeyId);
      const revoked = await database.apiKeys
        .find({ keyId: { $in: keyIds }, revokedAt: { $ne: null } }, { keyId: 1 })
        .lean<{ keyId: string }[]>();
      const lost = new Set(revoked.map(({ keyId }) => keyId));
      for (const id of all.filter((one) => !isKeyId(one))) if ((await sessions.userOf(id)) === null) lost.add(id);
      return lost;
    },
  };
}

const isKeyId = (id: string) => id.startsWith('key_');
