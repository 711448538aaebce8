import { readFile } from 'node:fs/promises';
import mongoose from 'mongoose';
import { modelsOn } from '../../../src/database.js';
import { sortShape, unservedAlternatives, type IndexShape, type QueryShape, type Restrictions } from './shape.js';

/**
 * First fields of indexes by collection, and why they lead to so few documents that a query may check the rest of its
 * conditions on each of them, and put them in order.
 */
const FEW: Readonly<Record<string, string>> = {
  'agents: accountId': 'at most 1,000 in each mode',
  'api_keys: accountId': 'at most 500 in each mode',
  'email_links: subject': 'links to one address, which expire',
  'invitations: accountId': 'open invitations of one account, which expire',
  'phone_numbers: accountId': 'numbers of one account',
  'recordings.files: open': 'recordings that are being made',
  'reconciliation_findings: ledgerAccountId': 'mismatches of one account',
  'sessions: userId': 'sessions of one person, which expire',
  'unverified_users: accountId': 'members of one account',
  'unverified_users: email': 'sign-ups with one address, which expire',
  'users: accountId': 'members of one account',
  'webhook_attempts: callId': 'attempts of one call',
};

/** Queries that read more documents than they want, as `describeQuery` describes them, and why they may. */
const MAY_READ_MORE: Readonly<Record<string, string>> = {
  'src/billing/ledger/storage.ts: ledger_accounts by nothing': 'the command line audits all accounts',
  'src/billing/statements/statements.ts: ledger_entries by _id, at, ledgerAccountId, void, ordered by -at, -_id':
    'leaves out tombstones, of which there are few, in the order of the account',
  'src/billing/statements/statements.ts: ledger_entries by at, ledgerAccountId, type, ordered by -at, -_id':
    'leaves out the holds of the account, in its order',
  'src/billing/statements/statements.ts: ledger_entries by at, ledgerAccountId, void, ordered by -at, -_id':
    'leaves out tombstones, of which there are few, in the order of the account',
  'src/billing/statements/statements.ts: ledger_entries by ledgerAccountId, void, ordered by -at, -_id': 'the same',
  'src/calls/erasure/erase-account.ts: audit_log by accountId, actorKind, actorName':
    'a command that changes most entries of an account',
  'src/calls/erasure/erase-account.ts: audit_log by accountId, target': 'the same',
  'src/calls/erasure/erase-account.ts: calls by _id, accountId, status, ordered by _id':
    'a command that erases all calls of an account',
  'src/calls/erasure/erase-account.ts: calls by accountId, erasedAt': 'the same',
  'src/calls/erasure/erase-account.ts: calls by accountId, erasedAt, status': 'the same',
  'src/calls/erasure/erase-account.ts: calls by accountId, status': 'the same',
  'src/calls/erasure/erase-number.ts: audit_log by action, target': 'a command that reads every document anyway',
  'src/calls/erasure/erase-number.ts: calls by accountId, erasedAt': 'a command that reads every document anyway',
  'src/calls/reconciliation/checks.ts: reconciliation_checks by _id, dueAt, kind, ordered by dueAt, _id':
    'leaves out checks of another kind; few are due unless reconciliation is behind',
  'src/calls/reconciliation/checks.ts: reconciliation_checks by dueAt, kind, ledgerAccountId, ordered by dueAt, _id':
    'the same',
  'src/calls/reconciliation/findings.ts: reconciliation_findings by nothing, ordered by firstSeenAt, _id':
    'the command line lists all findings',
  'src/calls/reconciliation/walks.ts: ledger_entries by _id, amountMicros, at, type, ordered by at, _id':
    'leaves out holds of 0 and further holds of a call, in order',
  'src/calls/retention/backlog.ts: recordings.files by forgetAfter, test, uploadDate, ordered by uploadDate':
    'leaves out files that are being deleted, in order',
  'src/calls/retention/backlog.ts: recordings.files by forgetAfter, uploadDate, ordered by uploadDate': 'the same',
  'src/calls/search/call-search.ts: calls by accountId, erasedAt, status':
    'a command, run once, indexes the words of all ended calls',
  'src/calls/sign-up-expiry.ts: audit_log by actorId, actorName': 'leaves out entries that it has changed',
  'src/calls/sign-up-expiry.ts: calls by accountId, erasedAt': 'calls of one sign-up, which are test calls',
  'src/calls/sign-up-expiry.ts: calls by accountId, status': 'calls of one sign-up, which are test calls',
  'src/calls/sign-up-expiry.ts: unverified_users by createdAt, expiredAt, invited, kept, verifyingSince':
    'old sign-ups are deleted, except for few',
  'src/calls/sign-up-expiry.ts: unverified_users by expiredAt, ordered by removalTriedAt, expiredAt':
    'sign-ups that are being deleted, of which there are few',
  'src/calls/state-metrics.ts: dial_pacing by nothing': 'there is one queue for each carrier account',
  'src/calls/steps/missing-accounts.ts: call_requests by carrierAccountId, createdAt':
    'a process that starts reads the requests of five hours, for two seconds at most',
  'src/identity/accounts/accounts.ts: accounts by nothing, ordered by createdAt, _id':
    'the command line lists all accounts',
  'src/identity/api-keys/api-key-queries.ts: api_keys by pepperId':
    'the command line compares its pepper with the keys',
  'src/identity/api-keys/api-key-queries.ts: api_keys by pepperId, ordered by -createdAt':
    'the command line compares its pepper with that of the key made last',
  'src/identity/api-keys/api-key-queries.ts: api_keys by pepperId, ordered by -lastUsedAt':
    'the command line compares its pepper with that of the key used last',
  'src/identity/api-keys/api-key-queries.ts: api_keys by pepperId, revokedAt, ordered by accountId, keyId':
    'the command line lists keys while the pepper changes',
  'src/identity/people/operators.ts: users by operator, ordered by createdAt, _id':
    'the command line lists the operators',
  'src/platform/mongo/migrations.ts: migrations by nothing': 'a set-up reads all migrations, of which there are few',
  'src/platform/mongo/pages.ts: call_search by accountId, agentId, mode, terms, ordered by -createdAt, _id':
    'a search with a filter, for ten seconds at most',
  'src/platform/mongo/pages.ts: call_search by accountId, createdAt, mode, terms, ordered by -createdAt, _id':
    'the same',
  'src/platform/mongo/pages.ts: call_search by accountId, mode, status, terms, ordered by -createdAt, _id': 'the same',
  'src/platform/mongo/pages.ts: call_search by accountId, mode, terms, ordered by -createdAt, _id':
    'a search by the beginning of a word puts its calls in order, for ten seconds at most',
  'src/platform/mongo/pages.ts: calls by accountId, agentId, mode, status, ordered by -createdAt, _id':
    'a list with two filters uses the index of one, for ten seconds at most',
  'src/telephony/web/legs.ts: web_legs by endedAt, open, ordered by seenAt':
    'legs of calls in progress, the longest silent first',
  'src/telephony/web/legs.ts: web_legs by expiresAt, open, startedAt, ordered by seenAt': 'the same',
  'src/telephony/web/legs.ts: web_legs by open, seenAt, startedAt, ordered by seenAt': 'the same',
  'src/voice/recordings/old-files.ts: recordings.files by forgetAfter, test, uploadDate, ordered by uploadDate':
    'leaves out files that are being deleted, in order',
  'src/voice/recordings/old-files.ts: recordings.files by forgetAfter, uploadDate, ordered by uploadDate': 'the same',
};

/**
 * Compares recorded queries with the indexes that the schemas declare.
 * @param file shapes of queries, one JSON object per line
 * @returns a description of each query that no index serves and that may not scan
 * @throws Error if nothing was recorded, so that a recorder that stops working is noticed
 */
export async function findUnservedQueries(file: string): Promise<string[]> {
  const indexes = declaredIndexes();
  const lines = (await readFile(file, 'utf8')).split('\n').filter(Boolean);
  if (lines.length === 0) throw new Error('The tests have recorded no query.');
  const shapes = [...new Set(lines)].map((line) => JSON.parse(line) as QueryShape);
  const unserved = shapes.flatMap((shape) => {
    // Collections of tests have no model.
    const present = indexes.get(shape.collection) ?? [];
    return present.length === 0
      ? []
      : unservedAlternatives(present, shape).map((fields) => describeQuery(shape, fields));
  });
  return [...new Set(unserved)].filter((query) => !(query in MAY_READ_MORE)).toSorted();
}

function describeQuery({ from, collection, sort }: QueryShape, fields: Restrictions): string {
  const names = Object.keys(fields).toSorted().join(', ');
  const order = sort.length === 0 ? '' : `, ordered by ${sort.join(', ')}`;
  return `${from}: ${collection} by ${names || 'nothing'}${order}`;
}

type IndexOptions = ReturnType<mongoose.Schema['indexes']>[number][1];

/** Every declared index, by collection. */
export function declaredIndexes(): Map<string, IndexShape[]> {
  const models = Object.values(modelsOn(mongoose.createConnection()));
  return new Map(
    models.map(({ collection: { collectionName: name }, schema }) => [
      name,
      [indexShape(name, { _id: 1 }, { unique: true }), ...schema.indexes().map((index) => indexShape(name, ...index))],
    ]),
  );
}

function indexShape(collection: string, order: object, options: IndexOptions): IndexShape {
  const { unique = false, sparse = false, partialFilterExpression = {} } = options;
  const fields = sortShape(order);
  return {
    fields,
    isUnique: unique === true,
    requires: [...Object.keys(partialFilterExpression), ...(sparse === true ? fields.slice(0, 1) : [])],
    fewBy: fewBy(collection, fields),
  };
}

/** How many of the first fields of an index lead to few documents; 0: not even all of them. */
function fewBy(collection: string, fields: readonly string[]): number {
  const counts = fields.map((_, at) => at + 1);
  return counts.find((count) => `${collection}: ${fields.slice(0, count).join(', ')}` in FEW) ?? 0;
}
