import type { Actor } from '../../kernel/access.js';
import type { Mode } from '../../kernel/ids.js';
import type { Route } from '../../platform/http/contract/route.js';
import type { Handlers } from '../../platform/http/routing/handlers.js';
import type { AccountDocument } from '../accounts/model.js';
import type { UserDocument } from '../people/model.js';

/** Who asks: an account in one mode, by one of its keys or members. */
export interface Principal {
  account: AccountDocument;
  mode: Mode;
  actor: Actor;
}

/** A member who asks. */
export interface MemberPrincipal extends Principal {
  actor: Extract<Actor, { kind: 'member' }>;
  user: UserDocument;
  /** When the session ends at the latest. */
  sessionEndsAt: Date;
}

/** Who brings an inbound call: the owner of a key, or, without an account, the carrier itself for whichever it is. */
export interface Forwarder {
  account?: AccountDocument;
  mode: Mode;
}

/** Who asks, by the route's `auth`; handlers of other routes are told nobody. */
export interface PrincipalsByAuth {
  key: Principal;
  keyOrSession: Principal;
  session: MemberPrincipal;
}

/** Handlers of a table of routes, told who asks. */
export type RouteHandlers<Table extends Readonly<Record<string, Route>>> = Handlers<Table, PrincipalsByAuth>;
