import { readFile } from 'node:fs/promises';
import mongoose from 'mongoose';
import { modelsOn } from '../../../src/database.js';
import { isServedBy, type IndexFields, type QueryShape } from './shape.js';

/** Queries that read every document of a collection, as `describeQuery` describes them, and why they may. */
const SCANS: Readonly<Record<string, string>> = {
  'src/billing/ledger/storage.ts: ledger_accounts by nothing': 'the command line audits all accounts',
  'src/calls/erasure/erase-number.ts: audit_log by action, target': 'a command that reads every document anyway',
  'src/calls/reconciliation/findings.ts: reconciliation_findings by nothing': 'the command line lists all findings',
  'src/calls/state-metrics.ts: dial_pacing by nothing': 'there is one queue for each carrier account',
  'src/calls/search/call-search.ts: calls by accountId, erasedAt, status':
    'a command, run once, indexes the words of all ended calls',
  'src/identity/accounts/accounts.ts: accounts by nothing': 'the command line lists all accounts',
  'src/identity/api-keys/api-key-queries.ts: api_keys by pepperId, revokedAt':
    'the command line lists keys while the pepper changes',
  'src/identity/api-keys/api-key-queries.ts: api_keys by pepperId':
    'the command line compares its pepper with the keys',
  'src/identity/people/operators.ts: users by operator': 'the command line lists the operators',
  'src/platform/mongo/migrations.ts: migrations by nothing': 'a set-up reads all migrations, of which there are few',
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
  const unserved = shapes.filter((shape) => {
    const present = indexes.get(shape.collection);
    // Collections of tests have no model.
    return present !== undefined && !isServedBy(present, shape) && !mayScan(shape);
  });
  return [...new Set(unserved.map(describeQuery))].toSorted();
}

function mayScan(shape: QueryShape): boolean {
  return describeQuery(shape) in SCANS;
}

function describeQuery({ from, collection, filter }: QueryShape): string {
  const fields = Object.keys(filter.fields).toSorted().join(', ');
  return `${from}: ${collection} by ${fields || 'nothing'}`;
}

/** The fields of every declared index, by collection. */
export function declaredIndexes(): Map<string, IndexFields[]> {
  const models = Object.values(modelsOn(mongoose.createConnection()));
  return new Map(
    models.map(({ collection, schema }) => [
      collection.collectionName,
      [['_id'], ...schema.indexes().map(([fields]) => Object.keys(fields))],
    ]),
  );
}
