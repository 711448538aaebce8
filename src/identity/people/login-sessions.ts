import { createHash, randomBytes } from 'node:crypto';
import type { IdentityDatabase } from '../database.js';
import { createPeople } from './people.js';
import { SESSION_IDLE_SECONDS, type LoginSessionDocument, type UserDocument } from './model.js';

const IDLE_MS = SESSION_IDLE_SECONDS * 1_000;
const MAX_MS = 7 * 24 * 3_600_000;
/** Maximum concurrent sessions of a person. When there are more, the oldest one ends. */
const MAX_SESSIONS = 20;
/** Minimum interval between two recorded uses of a session. */
const SEEN_RESOLUTION_MS = 60_000;

export type LoginSessions = ReturnType<typeof createLoginSessions>;

/** A valid session and its member. */
export interface LiveLoginSession {
  session: LoginSessionDocument;
  user: UserDocument;
  /** When the session ends at the latest. */
  expiresAt: Date;
}

/** Manages sessions of members. Tokens have 256 random bits and are stored as hashes. Nothing is cached. */
export function createLoginSessions(database: IdentityDatabase) {
  const { sessions } = database;
  const people = createPeople(database);

  /**
   * Finds the member of a session. Null if the password has changed, so that a reset ends even a session just starting.
   */
  async function ownerOf({ userId, credential }: LoginSessionDocument): Promise<UserDocument | null> {
    const user = await people.findById(userId);
    if (!user || (credential !== undefined && credential !== hashOf(user.passwordHash))) return null;
    return user;
  }

  /** Ends a member's oldest sessions if there are more than the maximum. */
  async function endBeyond(userId: string): Promise<void> {
    const newest = sessions.find({ userId }, { _id: 1 }).sort({ createdAt: -1, _id: 1 });
    const ended = await newest.skip(MAX_SESSIONS).lean<{ _id: string }[]>();
    if (ended.length > 0) await sessions.deleteMany({ _id: { $in: ended.map(({ _id }) => _id) } });
  }

  return {
    /** Starts a session that is valid until the password changes. The token is returned here and stored nowhere. */
    async begin(user: Pick<UserDocument, '_id' | 'passwordHash'>): Promise<{ token: string; expiresAt: Date }> {
      const userId = user._id;
      const token = randomBytes(32).toString('base64url');
      const now = new Date();
      // Delete expired sessions here, because not every server supports TTL indexes.
      await sessions.deleteMany({
        userId,
        $or: [
          { createdAt: { $lt: new Date(now.getTime() - MAX_MS) } },
          { lastSeenAt: { $lt: new Date(now.getTime() - IDLE_MS) } },
        ],
      });
      await sessions.create([
        { _id: hashOf(token), userId, createdAt: now, lastSeenAt: now, credential: hashOf(user.passwordHash) },
      ]);
      await endBeyond(userId);
      return { token, expiresAt: new Date(now.getTime() + MAX_MS) };
    },

    /** Finds the valid session of a token, or null. Sessions last 12 h after their last use, at most 7 days. */
    async find(token: string): Promise<LiveLoginSession | null> {
      if (!/^[\w-]{43}$/.test(token)) return null;
      const session = await sessions.findOne({ _id: hashOf(token) }).lean<LoginSessionDocument>();
      const now = Date.now();
      if (!session || !isInForce(session, now)) return null;
      const user = await ownerOf(session);
      if (!user) return null;
      if (now - session.lastSeenAt.getTime() >= SEEN_RESOLUTION_MS) {
        await sessions.updateOne({ _id: session._id }, { $set: { lastSeenAt: new Date(now) } });
      }
      return { session, user, expiresAt: new Date(session.createdAt.getTime() + MAX_MS) };
    },

    /**
     * Finds the member of a session; null if the session is no longer valid. Does not count as a use of the session.
     */
    async userOf(sessionId: string): Promise<UserDocument | null> {
      const session = await sessions.findOne({ _id: sessionId }).lean<LoginSessionDocument>();
      if (!session || !isInForce(session, Date.now())) return null;
      return ownerOf(session);
    },

    async end(sessionId: string): Promise<void> {
      await sessions.deleteOne({ _id: sessionId });
    },

    /**
     * Ends every session of a member, and deletes expired ones.
     * @returns whether it deleted a session, valid or expired
     */
    async endAll(userId: string): Promise<boolean> {
      return (await sessions.deleteMany({ userId })).deletedCount > 0;
    },
  };
}

function isInForce({ createdAt, lastSeenAt }: LoginSessionDocument, now: number): boolean {
  return now - createdAt.getTime() < MAX_MS && now - lastSeenAt.getTime() < IDLE_MS;
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
