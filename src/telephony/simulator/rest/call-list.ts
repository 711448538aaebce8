import { toTwilioResource, type CallRecord } from '../call-record.js';
import { REST_ERRORS } from './rest-errors.js';

const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 1_000;
const DAY_MS = 86_400_000;

/**
 * Builds one page of calls, newest first, with the relative links that the carrier's clients follow.
 * @param path of the request, without its query
 * @throws RestError when a query parameter is invalid
 */
export function listCarrierCalls(calls: CallRecord[], path: string, query: URLSearchParams): Record<string, unknown> {
  const pageSize = number(query, 'PageSize', DEFAULT_PAGE_SIZE, 1, MAX_PAGE_SIZE);
  const page = number(query, 'Page', 0, 0, Number.MAX_SAFE_INTEGER);
  const found = calls.filter((call) => matches(call, query));
  const start = firstOfPage(found, query.get('PageToken'), page * pageSize);
  const shown = found.slice(start, start + pageSize);
  const link = (toPage: number, token?: string) => {
    const next = new URLSearchParams(query);
    next.set('PageSize', String(pageSize));
    next.set('Page', String(toPage));
    next.delete('PageToken');
    if (token !== undefined) next.set('PageToken', token);
    return `${path}?${next.toString()}`;
  };
  const last = shown.at(-1);
  const more = last !== undefined && start + shown.length < found.length;
  return {
    calls: shown.map(toTwilioResource),
    page,
    page_size: pageSize,
    start,
    end: Math.max(start, start + shown.length - 1),
    uri: link(page),
    first_page_uri: link(0),
    next_page_uri: more ? link(page + 1, `PA${last.sid}`) : null,
    previous_page_uri: page > 0 ? link(page - 1) : null,
  };
}

/**
 * Returns the index of the page's first call. A page token contains the last call of the previous page, so that calls
 * placed meanwhile do not shift the pages.
 */
function firstOfPage(found: CallRecord[], token: string | null, offset: number): number {
  if (token === null) return offset;
  const last = found.findIndex((call) => `PA${call.sid}` === token);
  if (last < 0) throw REST_ERRORS.invalidParameter('PageToken');
  return last + 1;
}

function matches(call: CallRecord, query: URLSearchParams): boolean {
  const equal = (key: string, value: string) => !query.get(key) || query.get(key) === value;
  return (
    equal('To', call.to) &&
    equal('From', call.from) &&
    equal('Status', call.status) &&
    equal('ParentCallSid', call.parentCallSid ?? '') &&
    within(query, 'StartTime', call.startedAt) &&
    within(query, 'EndTime', call.endedAt)
  );
}

/**
 * Whether a time matches a filter. `StartTime` matches a whole UTC day; `StartTime<` and `StartTime>` include the given
 * time. Times are compared in whole seconds.
 */
function within(query: URLSearchParams, key: string, at: number | undefined): boolean {
  const day = moment(query, key);
  const before = moment(query, `${key}<`);
  const after = moment(query, `${key}>`);
  if (day === undefined && before === undefined && after === undefined) return true;
  if (at === undefined) return false;
  const second = Math.floor(at / 1_000) * 1_000;
  if (day !== undefined && Math.floor(second / DAY_MS) !== Math.floor(day / DAY_MS)) return false;
  return (before === undefined || second <= before) && (after === undefined || second >= after);
}

function moment(query: URLSearchParams, key: string): number | undefined {
  const text = query.get(key);
  if (!text) return undefined;
  const parsed = Date.parse(text);
  if (Number.isNaN(parsed)) throw REST_ERRORS.invalidParameter(key);
  return parsed;
}

function number(query: URLSearchParams, key: string, standard: number, min: number, max: number): number {
  const text = query.get(key);
  if (!text) return standard;
  const value = Number(text);
  if (!Number.isInteger(value) || value < min || value > max) throw REST_ERRORS.invalidParameter(key);
  return value;
}
