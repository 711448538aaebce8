import type { CallStatus, Direction } from '../kernel/call-state.js';
import type { Mode } from '../kernel/ids.js';
import type { PagePosition } from '../platform/mongo/pages.js';

/** Filters for a list of calls. `from` (inclusive) and `to` (exclusive) are creation times. */
export interface CallFilter {
  status?: CallStatus;
  direction?: Direction;
  agentId?: string;
  externalCallId?: string;
  /** A text that the call's phone numbers, external id or transcript contain; see `termsOfSearch`. */
  search?: string;
  from?: Date;
  to?: Date;
}

/** A query for one page of an account's calls in one mode. */
export interface CallPageQuery {
  accountId: string;
  mode: Mode;
  filter: CallFilter;
  after?: PagePosition;
  limit: number;
  /** Aborts the query. */
  signal?: AbortSignal;
}

/** The filter without the search, as a filter of documents. */
export function equalFilter({ accountId, mode, filter }: CallPageQuery): Record<string, unknown> {
  const { from, to, search: _search, ...equal } = filter;
  const range = { ...(from ? { $gte: from } : {}), ...(to ? { $lt: to } : {}) };
  return { accountId, mode, ...equal, ...(Object.keys(range).length > 0 ? { createdAt: range } : {}) };
}
