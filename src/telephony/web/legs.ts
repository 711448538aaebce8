import type { Mode } from '../../kernel/ids.js';
import { carrierTimeLimit } from '../../kernel/hold-windows.js';
import { createServerClock, type ServerClock } from '../../platform/mongo/server-clock.js';
import type { TelephonyDatabase } from '../database.js';
import { endOfLeg, legIdOf, limitOfLeg, LOST_AFTER_MS, type LegEnd } from './leg.js';
import type { WebLegDocument } from './leg-model.js';

/** Maximum legs that one sweep looks at. */
const MAX_SWEPT = 200;
const END_ATTEMPTS = 3;
const UNENDED = { endedAt: null };

export type WebLegs = ReturnType<typeof createWebLegs>;

/** A socket that was admitted to a leg. */
interface LegSocket {
  legId: string;
  socketId: string;
}

/** Stores the browser's sides of calls. Each change is one conditional update of one document. */
export function createWebLegs(database: TelephonyDatabase) {
  const legs = database.webLegs;
  const clock = createServerClock(database);

  const find = (legId: string) => legs.findById(legId).lean<WebLegDocument>().exec();

  /**
   * Ends a leg unless it has ended. Returns the stored leg, whose end never changes.
   * @param only end it only if it still has this socket, or if its last heartbeat was then
   */
  async function end(
    legId: string,
    { at, cause }: LegEnd,
    only: { socketId?: string; seenAt?: Date } = {},
  ): Promise<WebLegDocument | null> {
    for (let attempt = 1; attempt <= END_ATTEMPTS; attempt++) {
      const leg = await find(legId);
      if (leg === null || leg.endedAt !== undefined) return leg;
      if (cause === 'limit' && at < limitOfLeg(leg)) return leg;
      // The workflow may raise the limit at the same moment.
      const { limitSeconds } = leg;
      const endedAt = new Date(Math.min(at, limitOfLeg(leg)));
      const ended = await legs.updateOne(
        { _id: legId, ...UNENDED, limitSeconds, ...only },
        { $set: { endedAt, endCause: cause }, $unset: { tokenHash: '', previousTokenHash: '' } },
      );
      if (ended.matchedCount === 1) break;
    }
    return find(legId);
  }

  return {
    /** The database server's time, by which all times of legs are. */
    now: clock,

    /**
     * Stores the leg of a new call. A repeat changes nothing.
     * @param p.tokenMs how long the first token is valid
     */
    async create(p: {
      callId: string;
      accountId: string;
      mode: Mode;
      openedBy?: string;
      tokenHash: string;
      tokenMs: number;
    }): Promise<void> {
      const { callId, tokenMs, ...rest } = p;
      const now = await clock();
      const leg: Omit<WebLegDocument, '_id'> = {
        ...rest,
        createdAt: new Date(now),
        expiresAt: new Date(now + tokenMs),
        streamNumber: 0,
        seenAt: new Date(now),
        // The workflow raises the limit when the call is answered, and whenever it has held more money.
        limitSeconds: carrierTimeLimit(0),
        open: true,
      };
      await legs.updateOne({ _id: legIdOf(callId) }, { $setOnInsert: leg }, { upsert: true });
    },

    /** Removes the leg of a call that was not accepted. No socket can have been admitted to it. */
    async remove(callId: string): Promise<void> {
      await legs.deleteOne({ _id: legIdOf(callId), startedAt: null });
    },

    find,

    /** Returns the legs, without those that do not exist. */
    findAll(legIds: readonly string[]): Promise<WebLegDocument[]> {
      return legs
        .find({ _id: { $in: [...legIds] } })
        .lean<WebLegDocument[]>()
        .exec();
    },

    ...createLegSockets(legs, clock),

    end,

    /** Stores the end that follows from the leg's times, if any. Returns the stored leg. */
    async settle(leg: WebLegDocument): Promise<WebLegDocument> {
      const due = endOfLeg(leg, await clock());
      if (due === undefined || leg.endedAt !== undefined) return leg;
      return (await end(leg._id, due, { seenAt: leg.seenAt })) ?? leg;
    },

    /** Raises the time limit of a leg that has not ended. A late request with an older limit changes nothing. */
    async limit(legId: string, limitSeconds: number): Promise<void> {
      await legs.updateOne({ _id: legId, ...UNENDED }, { $max: { limitSeconds } });
    },

    /** Returns legs whose end is not known to their workflow yet: ended ones, and those that may have ended. */
    async unreported(): Promise<WebLegDocument[]> {
      const now = await clock();
      const silentSince = new Date(now - LOST_AFTER_MS);
      // Legs that still wait for their browser may be many, and must not take the places of the others.
      const mayHaveEnded = [
        { endedAt: { $ne: null } },
        { startedAt: { $ne: null }, seenAt: { $lt: silentSince } },
        { startedAt: null, expiresAt: { $lt: new Date(now) } },
      ];
      return legs
        .find({ open: true, $or: mayHaveEnded })
        .sort({ seenAt: 1 })
        .limit(MAX_SWEPT)
        .lean<WebLegDocument[]>()
        .exec();
    },

    /** Call this when the workflow knows the end. */
    async markReported(legId: string): Promise<void> {
      await legs.updateOne({ _id: legId, endedAt: { $ne: null } }, { $set: { open: false } });
    },
  };
}

/** Changes of legs by their sockets. */
function createLegSockets(legs: TelephonyDatabase['webLegs'], clock: ServerClock) {
  return {
    /**
     * Admits a socket: makes the leg belong to it. Its token stays valid until `confirmReady`, because the message with the
     * next token may be lost.
     * @param p.leg the leg as it was read
     * @param p.nextTokenHash of the token for the socket after this one
     * @returns the leg; null if the token is used up, or the leg has changed or ended meanwhile
     */
    async claim(p: {
      leg: WebLegDocument;
      tokenHash: string;
      socketId: string;
      streamNumber: number;
      nextTokenHash: string;
    }): Promise<WebLegDocument | null> {
      const { leg, tokenHash, socketId, streamNumber, nextTokenHash } = p;
      const now = new Date(await clock());
      const isFirst = leg.startedAt === undefined;
      const standing = isFirst
        ? { startedAt: null, expiresAt: { $gte: now } }
        : { streamNumber: leg.streamNumber, seenAt: { $gte: new Date(now.getTime() - LOST_AFTER_MS) } };
      return legs
        .findOneAndUpdate(
          { _id: leg._id, ...UNENDED, ...standing, $or: [{ tokenHash }, { previousTokenHash: tokenHash }] },
          {
            $set: {
              tokenHash: nextTokenHash,
              previousTokenHash: tokenHash,
              socketId,
              streamNumber,
              seenAt: now,
              ...(isFirst ? { startedAt: now } : {}),
            },
          },
          { returnDocument: 'after' },
        )
        .lean<WebLegDocument>()
        .exec();
    },

    /** Call this when the browser has received the next token. Uses up the token that admitted the socket. */
    async confirmReady({ legId, socketId }: LegSocket, tokenHash: string): Promise<void> {
      await legs.updateOne(
        { _id: legId, socketId, previousTokenHash: tokenHash },
        { $unset: { previousTokenHash: '' } },
      );
    },

    /** Stores a new token. The one before stays valid until the next rotation. @returns false if the socket is replaced */
    async rotate({ legId, socketId }: LegSocket, tokenHash: string, previousTokenHash: string): Promise<boolean> {
      const rotated = await legs.updateOne(
        { _id: legId, socketId, ...UNENDED },
        { $set: { tokenHash, previousTokenHash } },
      );
      return rotated.matchedCount === 1;
    },

    /** Stores a heartbeat of all these sockets that their legs still belong to. */
    async beat(sockets: readonly LegSocket[]): Promise<void> {
      const seenAt = new Date(await clock());
      await legs.updateMany(
        {
          _id: { $in: sockets.map(({ legId }) => legId) },
          socketId: { $in: sockets.map(({ socketId }) => socketId) },
          ...UNENDED,
        },
        { $set: { seenAt } },
      );
    },
  };
}
