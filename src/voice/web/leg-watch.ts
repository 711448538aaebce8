import type { LostAccess } from '../../identity/access/lost-access.js';
import type { CarrierEventHandlers, StatusReport } from '../../telephony/callbacks.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { SUPERSEDED } from '../../telephony/media.js';
import { createWebCarrier } from '../../telephony/web/carrier.js';
import { callIdOfLeg, endOfLeg, secondsOfLeg } from '../../telephony/web/leg.js';
import type { WebLegDocument } from '../../telephony/web/leg-model.js';
import type { WebLegs } from '../../telephony/web/legs.js';

/** Interval of the query that reads the legs of all sockets of this process. */
const READ_EVERY_MS = 1_000;
/** With one of this many reads, heartbeats are stored, old tokens renewed, access checked, and a search for lost legs begins. */
const BEATS_EVERY = 5;
/** A browser gets a new token for its next socket after this time. */
const TOKEN_LASTS_MS = 60_000;

/** A socket that this process has. */
export interface WatchedLeg {
  legId: string;
  socketId: string;
  /** See `WebLegDocument`. */
  openedBy?: string | undefined;
  /** Ends the conversation, because the leg has ended. */
  end(): void;
  /** Closes the socket for this reason, because another one continues the call. */
  leave(why: string): void;
  /** Gives the browser a new token for its next socket. */
  renewToken(): Promise<void>;
}

export type LegWatch = ReturnType<typeof watchLegs>;

/**
 * Keeps the legs of this process's sockets alive, follows changes that others make to them, and tells workflows how
 * legs ended. It also ends the legs that other processes have lost.
 */
export function watchLegs(deps: {
  legs: WebLegs;
  lostAccess: LostAccess;
  events: Pick<CarrierEventHandlers, 'handleStatus'>;
  logger: Logger;
  everyMs?: number;
}) {
  const { legs, lostAccess, events, logger, everyMs = READ_EVERY_MS } = deps;
  const watched = new Map<string, WatchedLeg & { renewAt: number }>();
  let rounds = 0;
  let isClosed = false;
  let running: Promise<void> | undefined;
  let sweeping: Promise<void> | undefined;
  let ending: Promise<void> | undefined;
  const beating = createFailureLog(logger, 'legs of browsers not kept alive');
  const checking = createFailureLog(logger, 'access of keys and sessions with calls in the browser not checked');
  const following = createFailureLog(logger, 'legs of browsers not read');
  const reporting = createFailureLog(logger, 'ends of browsers’ legs not reported');

  const reports = createLegReports({ legs, events });

  async function follow(): Promise<void> {
    const own = [...watched.values()];
    if (own.length === 0) return;
    const now = await legs.now();
    const found = new Map((await legs.findAll(own.map(({ legId }) => legId))).map((leg) => [leg._id, leg]));
    for (const each of own) {
      const leg = found.get(each.legId);
      if (leg === undefined) continue;
      const end = endOfLeg(leg, now);
      if (leg.socketId !== each.socketId) each.leave(SUPERSEDED);
      // A missing heartbeat of this process's own socket only means that the database was unavailable.
      else if (end !== undefined && end.cause !== 'lost') {
        const ended = leg.endedAt === undefined ? await legs.end(leg._id, end) : leg;
        if (ended?.endedAt !== undefined) each.end();
      }
    }
  }

  async function beat(): Promise<void> {
    const own = [...watched.values()];
    if (own.length === 0) return;
    await legs.beat(own);
    const due = own.filter(({ renewAt }) => performance.now() > renewAt);
    for (const each of due) {
      each.renewAt = performance.now() + TOKEN_LASTS_MS;
      await each.renewToken();
    }
  }

  const endLost = createAccessCheck({ legs, lostAccess, logger });
  const sweep = createSweep({ legs, reportEnd: (leg) => reports.reportEnd(leg), isClosed: () => isClosed });

  async function round(): Promise<void> {
    if (rounds++ % BEATS_EVERY === 0) {
      await beating.watch(beat);
      // Not awaited, because the next heartbeats must not wait for the ends and reports of many legs.
      ending ??= checking.watch(() => endLost([...watched.values()])).finally(() => (ending = undefined));
      sweeping ??= reporting.watch(sweep).finally(() => (sweeping = undefined));
    }
    await following.watch(follow);
  }

  const timer = setInterval(() => {
    running ??= round().finally(() => (running = undefined));
  }, everyMs);

  return {
    add(leg: WatchedLeg): void {
      watched.set(leg.socketId, { ...leg, renewAt: performance.now() + TOKEN_LASTS_MS });
    },

    remove(socketId: string): void {
      watched.delete(socketId);
    },

    /** Reports that the browser was connected. Never throws: the report of the audio says nearly the same. */
    async reportStart(leg: WebLegDocument): Promise<void> {
      const { _id: carrierSid, startedAt: at = leg.seenAt } = leg;
      const signal = { kind: 'answered' as const, carrierSid, at: at.getTime() };
      const callId = callIdOfLeg(carrierSid);
      await reports
        .report(leg, { signal, record: { status: 'in-progress', sequence: 0, at } })
        .catch((err: unknown) => logger.warn({ callId, err }, 'start of a browser’s leg not reported'));
    },

    /** Ends the leg of a socket, unless another socket has taken it over, and reports the end. Never throws. */
    async end({ legId, socketId }: Pick<WatchedLeg, 'legId' | 'socketId'>, cause: 'caller' | 'service'): Promise<void> {
      try {
        const ended = await legs.end(legId, { at: await legs.now(), cause }, { socketId });
        if (ended !== null) await reports.reportEnd(ended);
      } catch (error) {
        logger.warn({ callId: callIdOfLeg(legId), err: error }, 'end of a browser’s leg not reported');
      }
    },

    /** Stores a last heartbeat of a socket that is lost, so that the call is billed until now. Never throws. */
    lose: (leg: Pick<WatchedLeg, 'legId' | 'socketId'>): Promise<void> => beating.watch(() => legs.beat([leg])),

    /** See `confirmReady` of the legs. If it fails, the token stays valid until the next one is stored. Never throws. */
    async confirmReady(leg: Pick<WatchedLeg, 'legId' | 'socketId'>, tokenHash: string): Promise<void> {
      try {
        await legs.confirmReady(leg, tokenHash);
      } catch (error) {
        logger.warn({ callId: callIdOfLeg(leg.legId), err: error }, 'token of a browser’s leg not used up');
      }
    },

    async close(): Promise<void> {
      clearInterval(timer);
      isClosed = true;
      await Promise.all([running, sweeping, ending]);
    },
  };
}

/** Tells workflows about legs. */
function createLegReports({ legs, events }: { legs: WebLegs; events: Pick<CarrierEventHandlers, 'handleStatus'> }) {
  async function report(leg: WebLegDocument, status: StatusReport): Promise<void> {
    const carrier = createWebCarrier({ legs, mode: leg.mode });
    await events.handleStatus(callIdOfLeg(leg._id), { mode: leg.mode, carrier, carrierSid: leg._id }, status);
  }
  return {
    report,
    /** Tells the workflow how the leg ended. If that fails, a later sweep does it. */
    async reportEnd(leg: WebLegDocument): Promise<void> {
      if (leg.endedAt === undefined) return;
      await report(leg, endReportOf(leg));
      await legs.markReported(leg._id);
    },
  };
}

/**
 * Returns the function that ends those of the legs whose calls were opened with a key that was revoked, or in a session that has
 * ended. `follow` then ends the conversations.
 */
function createAccessCheck(deps: { legs: WebLegs; lostAccess: LostAccess; logger: Logger }) {
  const { legs, lostAccess, logger } = deps;
  return async function endLost(own: readonly Pick<WatchedLeg, 'legId' | 'openedBy'>[]): Promise<void> {
    const ids = own.flatMap(({ openedBy }) => openedBy ?? []);
    if (ids.length === 0) return;
    const lost = await lostAccess.among(ids);
    if (lost.size === 0) return;
    const at = await legs.now();
    for (const { legId, openedBy } of own) {
      if (openedBy === undefined || !lost.has(openedBy)) continue;
      await legs.end(legId, { at, cause: 'service' });
      logger.info(
        { callId: callIdOfLeg(legId) },
        'call in the browser ended: its key was revoked or its session has ended',
      );
    }
  };
}

/** Returns the function that ends the legs that processes have lost, and reports ends that are not reported yet. */
function createSweep(deps: {
  legs: WebLegs;
  reportEnd: (leg: WebLegDocument) => Promise<void>;
  isClosed: () => boolean;
}) {
  const { legs, reportEnd, isClosed } = deps;
  /** Legs that looked lost at the last sweep, with their last heartbeats. */
  let suspects = new Map<string, number>();

  /**
   * A leg is ended only if it looks lost twice: after an outage of the database, its process needs time to return. A leg
   * whose end cannot be reported does not keep the others from theirs.
   */
  return async function sweep(): Promise<void> {
    const seen = new Map<string, number>();
    let failure: Error | undefined;
    const now = await legs.now();
    for (const leg of await legs.unreported()) {
      if (isClosed()) return;
      const seenAt = leg.seenAt.getTime();
      if (endOfLeg(leg, now) === undefined) continue;
      if (leg.endedAt === undefined && suspects.get(leg._id) !== seenAt) {
        seen.set(leg._id, seenAt);
        continue;
      }
      try {
        await reportEnd(await legs.settle(leg));
      } catch (error) {
        failure ??= error instanceof Error ? error : new Error(String(error));
        // It already looked lost twice, so the next sweep may end it.
        seen.set(leg._id, seenAt);
      }
    }
    suspects = seen;
    if (failure !== undefined) throw failure;
  };
}

/** Logs when an action that is repeated begins to fail, and when it works again. */
function createFailureLog(logger: Logger, failure: string) {
  let isFailing = false;
  return {
    /** Runs the action. Never throws. */
    async watch(action: () => Promise<void>): Promise<void> {
      try {
        await action();
        if (isFailing) logger.info({ what: failure }, 'works again');
        isFailing = false;
      } catch (error) {
        if (!isFailing) logger.warn({ err: error }, failure);
        isFailing = true;
      }
    },
  };
}

function endReportOf(leg: WebLegDocument): StatusReport {
  const status = leg.startedAt === undefined ? ('canceled' as const) : ('completed' as const);
  const at = leg.endedAt ?? leg.seenAt;
  const durationSeconds = secondsOfLeg(leg);
  return {
    signal: { kind: 'ended', carrierSid: leg._id, at: at.getTime(), status, durationSeconds },
    record: { status, sequence: 1, at, durationSeconds },
  };
}
