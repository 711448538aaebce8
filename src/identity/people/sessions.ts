import { createHash, randomBytes } from 'node:crypto';
import type { IdentityDatabase } from '../database.js';
import { createPeople } from './people.js';
import type { SessionDocument, UserDocument } from './model.js';

const IDLE_MS = 12 * 3_600_000;
const LONGEST_MS = 7 * 24 * 3_600_000;
/** Of a person at the same time; when there are more, the oldest ends. */
const MOST_SESSIONS = 20;
/** A use is noted this often at most. */
const SEEN_RESOLUTION_MS = 60_000;

export type Sessions = ReturnType<typeof createSessions>;

/** A session in force and the member whose it is. */
export interface LiveSession {
  session: SessionDocument;
  user: UserDocument;
  /** When it ends at the latest. */
  expiresAt: Date;
}

/** Sessions of members: opaque tokens of 256 random bits, of which only a hash is kept. Nothing is cached. */
export function createSessions(database: IdentityDatabase) {
  const { sessions } = database;
  const people = createPeople(database);

  /** Null when the password is another one: a reset must end every session, also one that begins at the same moment. */
  async function ownerOf({ userId, credential }: SessionDocument): Promise<UserDocument | null> {
    const user = await people.findById(userId);
    if (!user || (credential !== undefined && credential !== hashOf(user.passwordHash))) return null;
    return user;
  }

  /** Ends the oldest sessions of a member beyond as many as they may have. */
  async function endBeyond(userId: string): Promise<void> {
    const newest = sessions.find({ userId }, { _id: 1 }).sort({ createdAt: -1, _id: 1 });
    const ended = await newest.skip(MOST_SESSIONS).lean<{ _id: string }[]>();
    if (ended.length > 0) await sessions.deleteMany({ _id: { $in: ended.map(({ _id }) => _id) } });
  }

  return {
    /** Begins a session that lasts as long as this password at most; the token is in the answer and nowhere else. */
    async begin(user: Pick<UserDocument, '_id' | 'passwordHash'>): Promise<{ token: string; expiresAt: Date }> {
      const userId = user._id;
      const token = randomBytes(32).toString('base64url');
      const now = new Date();
      // Not every server removes old documents by itself.
      await sessions.deleteMany({
        userId,
        $or: [
          { createdAt: { $lt: new Date(now.getTime() - LONGEST_MS) } },
          { lastSeenAt: { $lt: new Date(now.getTime() - IDLE_MS) } },
        ],
      });
      await sessions.create([
        { _id: hashOf(token), userId, createdAt: now, lastSeenAt: now, credential: hashOf(user.passwordHash) },
      ]);
      await endBeyond(userId);
      return { token, expiresAt: new Date(now.getTime() + LONGEST_MS) };
    },

    /** The session of a token; null for anything that is not one in force: 12 h after its last use, 7 days in all. */
    async find(token: string): Promise<LiveSession | null> {
      if (!/^[\w-]{43}$/.test(token)) return null;
      const session = await sessions.findOne({ _id: hashOf(token) }).lean<SessionDocument>();
      const now = Date.now();
      if (!session || !isInForce(session, now)) return null;
      const user = await ownerOf(session);
      if (!user) return null;
      if (now - session.lastSeenAt.getTime() >= SEEN_RESOLUTION_MS) {
        await sessions.updateOne({ _id: session._id }, { $set: { lastSeenAt: new Date(now) } });
      }
      return { session, user, expiresAt: new Date(session.createdAt.getTime() + LONGEST_MS) };
    },

    /** Whose a session is; null when it is not in force any more. It does not count as a use. */
    async userOf(sessionId: string): Promise<UserDocument | null> {
      const session = await sessions.findOne({ _id: sessionId }).lean<SessionDocument>();
      if (!session || !isInForce(session, Date.now())) return null;
      return ownerOf(session);
    },

    async end(sessionId: string): Promise<void> {
      await sessions.deleteOne({ _id: sessionId });
    },

    /**
     * Ends every session of a member, and removes what is left of those that ended by themselves.
     * @returns whether it removed a session, in force or not
     */
    async endAll(userId: string): Promise<boolean> {
      return (await sessions.deleteMany({ userId })).deletedCount > 0;
    },
  };
}

function isInForce({ createdAt, lastSeenAt }: SessionDocument, now: number): boolean {
  return now - createdAt.getTime() < LONGEST_MS && now - lastSeenAt.getTime() < IDLE_MS;
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
