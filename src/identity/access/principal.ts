import type { Actor } from '../../kernel/access.js';
import type { Mode } from '../../kernel/ids.js';
import type { Route } from '../../platform/http/contract/route.js';
import type { Handlers } from '../../platform/http/routing/handlers.js';
import type { AccountDocument } from '../accounts/model.js';
import type { UserDocument } from '../people/model.js';

/** The authenticated sender of a request: an account in one mode, through one of its keys or members. */
export interface Principal {
  account: AccountDocument;
  mode: Mode;
  actor: Actor;
  /** The member, or the first ancestor of the key: what shares the limits of its account with others. */
  sender: string;
}

/** A principal that is a member with a session. */
export interface MemberPrincipal extends Principal {
  actor: Extract<Actor, { kind: 'member' }>;
  user: UserDocument;
  /** When the session ends at the latest. */
  sessionEndsAt: Date;
}

/** Sender of a request about an inbound call: the owner of a key or, without an account, the carrier. */
export interface Forwarder {
  account?: AccountDocument;
  mode: Mode;
}

/** The type of principal that a handler receives, by the route's `auth`. Handlers of other routes receive none. */
export interface PrincipalsByAuth {
  key: Principal;
  keyOrSession: Principal;
  session: MemberPrincipal;
}

/** Handlers of a route table, with the principal of each route. */
export type RouteHandlers<Table extends Readonly<Record<string, Route>>> = Handlers<Table, PrincipalsByAuth>;
