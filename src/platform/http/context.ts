import type { ParameterizedContext } from 'koa';

/** State that middleware sets for handlers. */
export interface RequestState {
  requestId: string;
  /** ms since the epoch. */
  arrivedAt: number;
  /** Minimum for every response deadline, ms; for machines shared with other work. */
  leastTimeMs: number;
  /** When the JSON body had arrived, ms since the epoch; absent until it is read. */
  bodyAt?: number;
  /** When the account's queue admitted the request, ms since the epoch; absent if the request was not queued. */
  startedAt?: number;
  /** Aborted when the response is sent or its socket is closed; absent if the request was not queued. */
  closed?: AbortSignal;
  /** The route's path with parameters in braces; never the real path, which may contain what must not be logged. */
  route?: string;
  /** The sender has a valid key or session, so that costlier work such as decompressing the body is allowed. */
  isAuthenticated?: true;
  /**
   * Checks the sender's permission again, because it may be revoked in the seconds between the headers and the body.
   * Throws ServiceError UNAUTHORIZED or FORBIDDEN.
   */
  recheck?: () => Promise<void>;
  /** Runs a read of call data once the account's queue admits it; absent without authentication. */
  inTurn?: <T>(read: () => Promise<T>) => Promise<T>;
  /** Reads the body of an unauthenticated request; another one may abort it, see `createBodiesInFlight`. */
  readOfStranger: (read: (signal: AbortSignal) => Promise<Buffer>) => Promise<Buffer>;
  /** The request counts as a signed request in flight. */
  isAdmitted?: true;
}

export type ApiContext = ParameterizedContext<RequestState>;
