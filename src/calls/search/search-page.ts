import { CALL_STATUSES, isFinalStatus } from '../../kernel/call-state.js';
import { readPage, type Page, type PagePosition } from '../../platform/mongo/pages.js';
import type { CallDocument } from '../call-model.js';
import { equalFilter, type CallPageQuery } from '../call-filter.js';
import type { CallsDatabase } from '../database.js';
import type { CallSearchDocument } from './model.js';
import { hasTerms, isBeginning, termsOfCall, termsOfSearch } from './search-terms.js';

const UNFINISHED = CALL_STATUSES.filter((status) => !isFinalStatus(status));
/** Calls in progress per read. An account has few of them. */
const OPEN_AT_ONCE = 500;

type Hit = Pick<CallDocument, '_id' | 'createdAt'> & { call?: CallDocument };

/**
 * Reads a page of the calls that a search finds: calls in progress by their numbers and ids, ended ones also by their
 * words. The order and the positions are those of the list without a search.
 */
export async function readSearchPage(
  database: CallsDatabase,
  query: CallPageQuery & { search: string; fields: Record<string, 0> },
): Promise<Page<CallDocument>> {
  const sets = termsOfSearch(query.search);
  if (sets.length === 0) return { items: [] };
  // A call that ends between the two reads is in both.
  const open = await findOpen(database, query, sets);
  const ended = await findEnded(database, query, sets);
  const isNew = new Set(ended.map(({ _id }) => _id));
  const hits = [...ended, ...open.filter(({ _id }) => !isNew.has(_id))].toSorted(inListOrder);
  const page = hits.slice(0, query.limit);
  const last = page.at(-1);
  const items = await callsOf(database, page, query.fields);
  return { items, ...(hits.length > query.limit && last ? { next: { at: last.createdAt, id: last._id } } : {}) };
}

/** Finds at most one more call in progress than the page has. */
async function findOpen(
  { calls }: CallsDatabase,
  query: CallPageQuery & { fields: Record<string, 0> },
  sets: readonly string[][],
): Promise<Hit[]> {
  const { status } = query.filter;
  if (status !== undefined && isFinalStatus(status)) return [];
  const filter = { ...equalFilter(query), status: status ?? { $in: UNFINISHED } };
  const found: Hit[] = [];
  let { after } = query;
  for (let isMore = true; isMore && found.length <= query.limit;) {
    const page: Page<CallDocument> = await readPage<CallDocument>(calls, {
      filter,
      fields: query.fields,
      limit: OPEN_AT_ONCE,
      ...positionAnd(query, after),
    });
    found.push(
      ...page.items.filter((call) => hasTerms(termsOfCall(call), sets)).map((call) => ({ ...keyOf(call), call })),
    );
    after = page.next;
    isMore = after !== undefined;
  }
  return found;
}

/** Finds at most one more ended call than the page has. */
async function findEnded(
  { callSearch }: CallsDatabase,
  query: CallPageQuery,
  sets: readonly string[][],
): Promise<Hit[]> {
  const { status } = query.filter;
  if (status !== undefined && !isFinalStatus(status)) return [];
  // Terms have only letters and digits, so that they need no escape characters.
  const all = sets.map((terms) => ({
    $and: terms.map((term) => ({ terms: isBeginning(term) ? { $regex: `^${term}` } : term })),
  }));
  const { items } = await readPage<CallSearchDocument>(callSearch, {
    filter: { ...equalFilter(query), ...(all.length === 1 ? all[0] : { $or: all }) },
    fields: { createdAt: 1 },
    limit: query.limit + 1,
    ...positionAnd(query, query.after),
  });
  return items.map(keyOf);
}

/** Reads the calls that are not read yet. A call that was erased meanwhile is left out. */
async function callsOf({ calls }: CallsDatabase, hits: readonly Hit[], fields: object): Promise<CallDocument[]> {
  const unread = hits.flatMap(({ _id, call }) => (call === undefined ? [_id] : []));
  const read =
    unread.length === 0
      ? []
      : await calls
          .find({ _id: { $in: unread }, erasedAt: { $exists: false } }, fields)
          .lean<CallDocument[]>()
          .exec();
  const byId = new Map(read.map((call) => [call._id, call]));
  return hits.flatMap(({ _id, call = byId.get(_id) }) => (call === undefined ? [] : [call]));
}

const keyOf = ({ _id, createdAt }: Hit): Hit => ({ _id, createdAt });

function positionAnd({ signal }: CallPageQuery, after: PagePosition | undefined) {
  return { ...(signal === undefined ? {} : { signal }), ...(after === undefined ? {} : { after }) };
}

function inListOrder(a: Hit, b: Hit): number {
  return b.createdAt.getTime() - a.createdAt.getTime() || (a._id < b._id ? -1 : 1);
}
