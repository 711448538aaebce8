import { finished, type Readable } from 'node:stream';
import { mayUse, type Role } from '../../kernel/access.js';
import { errorObject, type ErrorReferences } from '../../platform/http/contract/errors.js';
import type { Route } from '../../platform/http/contract/route.js';
import { roleNotPermitted } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { Principal } from './principal.js';
import { serviceUnavailable, withDeadline } from '../../platform/http/deadline.js';

const CHECK_EVERY_MS = 5_000;
const CHECK_TIMEOUT_MS = 4_000;
/** How long streams continue while the database is down and permissions cannot be checked. After that, all end. */
const UNCHECKED_AT_MOST_MS = 30_000;

/**
 * The current rights of a principal: a member's role, or `{}` for a key. Null: the key or session is no longer valid.
 */
export type CurrentAccess = { role?: Role } | null;

interface Watched {
  followers: Set<(access: CurrentAccess | 'unknown') => void>;
  timer: NodeJS.Timeout;
  checkedAt: number;
  isChecking: boolean;
}

export type PrincipalWatch = ReturnType<typeof createPrincipalWatch>;

/**
 * Checks the permission of principals again while their streaming responses are being sent, not only when the request
 * arrived. Each principal is checked once per interval, for all of its open responses.
 */
export function createPrincipalWatch(deps: {
  readCurrentAccess: (principal: Principal) => Promise<CurrentAccess>;
  logger: Logger;
  everyMs?: number;
  uncheckedAtMostMs?: number;
}) {
  const { readCurrentAccess, logger, everyMs = CHECK_EVERY_MS, uncheckedAtMostMs = UNCHECKED_AT_MOST_MS } = deps;
  const watched = new Map<string, Watched>();

  async function check(principal: Principal, entry: Watched): Promise<void> {
    if (entry.isChecking) return;
    entry.isChecking = true;
    let access: CurrentAccess | 'unknown';
    try {
      access = await withDeadline(Date.now() + Math.min(CHECK_TIMEOUT_MS, everyMs), readCurrentAccess(principal));
      entry.checkedAt = Date.now();
    } catch (error) {
      if (Date.now() - entry.checkedAt < uncheckedAtMostMs) return;
      logger.warn({ err: error }, 'event streams ended: permissions could not be checked');
      access = 'unknown';
    } finally {
      entry.isChecking = false;
    }
    for (const follower of entry.followers) follower(access);
  }

  function follow(principal: Principal, follower: (access: CurrentAccess | 'unknown') => void): () => void {
    const id = idOf(principal);
    let entry = watched.get(id);
    if (entry === undefined) {
      const added: Watched = {
        followers: new Set(),
        timer: setInterval(() => void check(principal, added), everyMs),
        checkedAt: Date.now(),
        isChecking: false,
      };
      added.timer.unref();
      watched.set(id, added);
      entry = added;
    }
    const { followers, timer } = entry;
    followers.add(follower);
    return () => {
      followers.delete(follower);
      if (followers.size > 0 || watched.get(id)?.followers !== followers) return;
      clearInterval(timer);
      watched.delete(id);
    };
  }

  return {
    /** Ends a response when its principal may no longer read it. An event stream ends with an error event. */
    guard(ctx: ApiContext, principal: Principal, route: Route, body: Readable): void {
      const isEvents = ctx.response.is('text/event-stream') !== false;
      const stop = follow(principal, (access) => {
        const fault = faultOf(access, route);
        if (fault === undefined) return;
        stop();
        if (isEvents) endEvents(body, fault, ctx.state);
        else body.destroy(fault);
      });
      finished(body, stop);
    },

    /** Number of principals being watched. */
    size: () => watched.size,
  };
}

/** Ends an event stream with the error that the client would receive if it repeated the request. */
export function endEvents(stream: Readable, fault: ServiceError, references: ErrorReferences): void {
  if (stream.destroyed || !('end' in stream) || Reflect.get(stream, 'writableEnded') === true) return;
  const end = stream.end as (this: Readable, text: string) => void;
  end.call(stream, `event: end\ndata: ${JSON.stringify(errorObject(fault, references))}\n\n`);
}

function faultOf(access: CurrentAccess | 'unknown', route: Route): ServiceError | undefined {
  if (access === 'unknown') return serviceUnavailable();
  if (access === null) {
    return new ServiceError(
      'UNAUTHORIZED',
      'The API key was revoked or has expired, or the login session has ended. Use another key, or log in again.',
    );
  }
  const { role } = access;
  if (role === undefined || mayUse(role, route)) return undefined;
  return roleNotPermitted(role);
}

function idOf({ actor }: Principal): string {
  return actor.kind === 'key' ? `key:${actor.keyId}` : `session:${actor.sessionId}`;
}
