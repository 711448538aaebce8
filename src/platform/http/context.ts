import type { ParameterizedContext } from 'koa';

/** What middleware leaves for handlers. */
export interface RequestState {
  requestId: string;
  /** ms since the epoch. */
  arrivedAt: number;
  /** No request is given less time to be answered, ms; for machines that are shared with other work. */
  leastTimeMs: number;
  /** When the body had arrived, ms since the epoch; absent until a JSON body is read. */
  bodyAt?: number;
  /** ms since the epoch; set where the request had to wait for others of its account. */
  startedAt?: number;
  /** Aborted when the response is sent or its socket is closed; set where requests of an account take turns. */
  closed?: AbortSignal;
  /** The route's path with parameters in braces; never the real path, which may hold what logs must not. */
  route?: string;
  /** The sender is known by a key or a session, so that more of its work is done, such as decompressing a body. */
  isAuthenticated?: true;
  /**
   * Asks again whether the sender may do this. A body may come seconds after its headers, and the right is gone by then.
   * Throws ServiceError UNAUTHORIZED or FORBIDDEN.
   */
  recheck?: () => Promise<void>;
  /** Does what is read back of a call once it is the turn of its account; absent where nobody is known. */
  inTurn?: <T>(read: () => Promise<T>) => Promise<T>;
  /** Reads the body of a sender who is not known; it may have to make room for another one. */
  readOfStranger: (read: (signal: AbortSignal) => Promise<Buffer>) => Promise<Buffer>;
  /** Counted among the signed requests in flight. */
  isAdmitted?: true;
}

export type ApiContext = ParameterizedContext<RequestState>;
