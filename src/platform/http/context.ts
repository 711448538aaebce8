import type { ParameterizedContext } from 'koa';
import type { Actor } from '../../kernel/access.js';
import type { Mode } from '../../kernel/ids.js';
import type { AccountDocument } from '../../identity/accounts/model.js';
import type { UserDocument } from '../../identity/people/model.js';

/** What middleware leaves for handlers. */
export interface RequestState {
  requestId: string;
  /** ms since the epoch. */
  arrivedAt: number;
  /** The route's path with parameters in braces; never the real path, which may hold what logs must not. */
  route?: string;
  /** The sender is known by a key or a session, so that more of its work is done, such as decompressing a body. */
  isAuthenticated?: true;
  /**
   * Asks again whether the sender may do this. A body may come seconds after its headers, and the right is gone by then.
   * Throws ServiceError UNAUTHORIZED or FORBIDDEN.
   */
  recheck?: () => Promise<void>;
  /** Counted among the signed requests in flight. */
  isAdmitted?: true;
  /** What a change was done to, for the audit log, where the path does not name it. */
  target?: string;
}

export type ApiContext = ParameterizedContext<RequestState>;

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
