import type { Role } from '../../../src/kernel/access.js';
import type { Mode } from '../../../src/kernel/ids.js';
import type { Route, RouteAuth } from '../../../src/platform/http/contract/route.js';

/** Who asks. */
export interface Actor {
  name: string;
  kind: 'nobody' | 'badKey' | 'key' | 'member' | 'endedSession' | 'carrier' | 'payment';
  /** Of the key, of the carrier's account, or the one that a member names. */
  mode?: Mode;
  role?: Role;
  /** A member whose e-mail address is not verified. */
  unverified?: true;
  /** Says that it comes from a page of our own. */
  ownOrigin?: true;
  /** Asks about things of an account that is not its own. */
  stranger?: true;
}

/** What the path names: in which mode it lives; `account` is one thing for both modes. */
export interface Target {
  kind: 'call' | 'delivery' | 'key' | 'agent' | 'number' | 'member' | 'invitation';
  mode: Mode;
}

export type Verdict = 'admitted' | 401 | 403 | 404;

/** Who gets in at all, by the route's `auth`. Whoever is not named in a row is refused with its last entry. */
const DOORS: Record<RouteAuth, { in: readonly Actor['kind'][]; page?: true; otherwise: 401 | 403 }> = {
  none: { in: ['nobody', 'badKey', 'key', 'member', 'endedSession', 'carrier', 'payment'], otherwise: 401 },
  key: { in: ['key'], otherwise: 401 },
  keyOrSession: { in: ['key', 'member'], otherwise: 401 },
  session: { in: ['member'], otherwise: 401 },
  // Whoever comes from a page of our own.
  origin: { in: [], page: true, otherwise: 403 },
  keyOrCarrier: { in: ['key', 'carrier'], otherwise: 401 },
  carrier: { in: ['carrier'], otherwise: 403 },
};

/** What no field of the contract says: routes that find out by themselves who asks. */
const BY_THEMSELVES: Readonly<Record<string, readonly Actor['kind'][]>> = { receivePayment: ['payment'] };

/** Whoever may bring others in must be known by an address. */
const ONLY_VERIFIED = ['inviteMember'];

const ALL_ROLES: readonly Role[] = ['owner', 'developer', 'viewer'];
const MAY_CHANGE: readonly Role[] = ['owner', 'developer'];

/** Things of one mode; numbers, members and invitations belong to the account. */
const OF_A_MODE: readonly Target['kind'][] = ['call', 'delivery', 'key'];

/** What a request must come to, by what the contract says of its route. */
export function verdictOf(id: string, route: Route, actor: Actor, target?: Target): Verdict {
  const own = BY_THEMSELVES[id];
  if (own !== undefined) return own.includes(actor.kind) ? 'admitted' : 403;
  const door = DOORS[route.auth];
  const isIn = door.in.includes(actor.kind) || (door.page === true && actor.ownOrigin === true);
  if (!isIn) return door.otherwise;

  const changes = route.method !== 'get';
  if (actor.kind === 'member' && (route.auth === 'keyOrSession' || route.auth === 'session')) {
    if (changes && actor.ownOrigin !== true) return 403;
    const roles: readonly Role[] = route.roles ?? (changes ? MAY_CHANGE : ALL_ROLES);
    if (actor.role === undefined || !roles.includes(actor.role)) return 403;
    if (actor.unverified && ONLY_VERIFIED.includes(id)) return 403;
  }
  const isTestKey = actor.kind === 'key' && actor.mode === 'test';
  if (isTestKey && route.changes === 'account') return 403;

  // The carrier is told 200 of unknown calls, too.
  if (target === undefined || actor.kind === 'carrier') return 'admitted';
  if (actor.stranger) return 404;
  if (OF_A_MODE.includes(target.kind) && target.mode !== actor.mode) return 404;
  if (target.kind === 'agent' && target.mode === 'test' && actor.mode === 'live') return 404;
  if (isTestKey && route.changes === 'agent' && target.mode === 'live') return 403;
  return 'admitted';
}
