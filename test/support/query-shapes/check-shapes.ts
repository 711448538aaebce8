import { readFile } from 'node:fs/promises';
import mongoose from 'mongoose';
import { modelsOn } from '../../../src/database.js';
import { isServedBy, type IndexFields, type QueryShape } from './shape.js';

/** Queries that read every document of a collection, by the file that asks and the collection, and why they may. */
const SCANS: Readonly<Record<string, string>> = {
  'src/billing/ledger/storage.ts ledger_accounts': 'the command line audits all accounts',
  'src/calls/reconciliation/findings.ts reconciliation_findings': 'the command line lists all findings',
  'src/calls/search/call-search.ts calls': 'a command, run once, indexes the words of all ended calls',
  'src/identity/accounts/accounts.ts accounts': 'the command line lists all accounts',
  'src/identity/people/operators.ts users': 'the command line lists the operators',
  'src/platform/mongo/migrations.ts migrations': 'a set-up reads all migrations, of which there are few',
};

/**
 * Compares recorded queries with the indexes that the schemas declare.
 * @param file shapes of queries, one JSON object per line
 * @returns a description of each query that no index serves and that may not scan
 */
export async function findUnservedQueries(file: string): Promise<string[]> {
  const indexes = declaredIndexes();
  const lines = (await readFile(file, 'utf8')).split('\n').filter(Boolean);
  const shapes = [...new Set(lines)].map((line) => JSON.parse(line) as QueryShape);
  const unserved = shapes.filter((shape) => {
    const present = indexes.get(shape.collection);
    // Collections of tests have no model.
    return present !== undefined && !isServedBy(present, shape) && !mayScan(shape);
  });
  return [...new Set(unserved.map(describeQuery))].toSorted();
}

function mayScan({ from, collection }: QueryShape): boolean {
  return `${from} ${collection}` in SCANS;
}

function describeQuery({ from, collection, command, filter }: QueryShape): string {
  const fields = Object.keys(filter.fields).toSorted().join(', ');
  return `${from}: ${command} in ${collection} by ${fields || 'nothing'}`;
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
