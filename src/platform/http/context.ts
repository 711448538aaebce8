import type { ParameterizedContext } from 'koa';
import type { Mode } from '../../kernel/ids.js';

/** State that middleware sets for handlers. */
export interface RequestState {
  requestId: string;
  /** URL of the page that explains error codes. */
  errorDocs: string;
  /** In ms since the epoch. */
  arrivedAt: number;
  /** Minimum of every response deadline, in ms, for slow machines. */
  minDeadlineMs: number;
  /** When the JSON body had arrived, ms since the epoch; absent until it is read. */
  bodyAt?: number;
  /** Called with the bytes of the JSON body before it is parsed. May throw ServiceError RATE_LIMIT_EXCEEDED. */
  chargeBody?: (bytes: number) => Promise<void>;
  /** When the account's queue admitted the request, ms since the epoch. Absent if the request was not queued. */
  startedAt?: number;
  /** The route's path with parameters in braces. Log this instead of the real path, which may contain private data. */
  route?: string;
  /** The call that the request is about to start, for the log. Absent until it has an id. */
  callId?: string;
  /** The sender's mode, for metrics. Absent until the sender is known. */
  mode?: Mode;
  /** True if the sender has a valid key or session. Then costly work such as decompressing the body is allowed. */
  isAuthenticated?: true;
  /**
   * Checks the sender's permission again, because it may be revoked between the arrival of headers and body. Throws
   * ServiceError UNAUTHORIZED or FORBIDDEN.
   */
  recheck?: () => Promise<void>;
  /** Runs a read of call data when the account's queue admits it. Absent without authentication. */
  runQueued?: <T>(read: () => Promise<T>) => Promise<T>;
  /** Runs a step of an export when it is the account's turn. Absent without authentication. */
  runStep?: <T>(signal: AbortSignal, step: () => Promise<T>) => Promise<T>;
  /** Frees the request's slot in a queue during a pause. Absent if the request has no slot. */
  releaseSlotDuring?: <T>(pause: () => Promise<T>) => Promise<T>;
  /** Functions to call when the response was sent or its client disconnected. Absent until one is registered. */
  whenClosed?: Set<() => void>;
  /** Reads the body of an unauthenticated request. Another request may abort the read, see `createBodiesInFlight`. */
  readUnauthenticated: (read: (signal: AbortSignal) => Promise<Buffer>) => Promise<Buffer>;
  /** True if the response is an error because the account of the sender is frozen. */
  isFrozen?: true;
  /** Set by a handler that fails before it has begun its change. */
  isUnchanged?: true;
  /** Frees the place of a signed request in flight. Absent for other requests. */
  releaseSigned?: () => void;
}

export type ApiContext = ParameterizedContext<RequestState>;
