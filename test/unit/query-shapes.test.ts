import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { declaredIndexes, findUnservedQueries } from '../support/query-shapes/check-shapes.js';
import { filterShape, sortShape, unservedAlternatives, type IndexShape } from '../support/query-shapes/shape.js';

const index = (fields: string[], other: Partial<IndexShape> = {}): IndexShape => ({
  fields,
  isUnique: false,
  requires: [],
  fewBy: 0,
  ...other,
});
const INDEXES = [
  index(['_id'], { isUnique: true }),
  index(['accountId', 'mode', '-createdAt', '_id']),
  index(['updatedAt', '_id']),
  index(['number'], { isUnique: true }),
  index(['userId'], { fewBy: 1 }),
  index(['triedAt'], { requires: ['triedAt'] }),
  index(['endedAt'], { requires: ['open'] }),
];

function isServed(filter: Record<string, unknown>, sort: Record<string, 1 | -1> = {}): boolean {
  return unservedAlternatives(INDEXES, { filter: filterShape(filter), sort: sortShape(sort) }).length === 0;
}

const RANGE = { $lte: new Date() };

describe('a query is served by an index', () => {
  it.each([
    ['the id', { _id: 'call_1' }],
    ['some ids', { _id: { $in: ['a', 'b'] } }],
    ['the first field of an index', { accountId: 'a' }],
    ['the first fields of an index', { mode: 'live', accountId: 'a' }],
    ['a missing value of the first field', { accountId: null }],
    ['a range of the first field', { updatedAt: RANGE }],
    ['values of the first fields and a range of the next', { accountId: 'a', mode: 'live', createdAt: RANGE }],
    ['a range and another condition of one field', { updatedAt: { $ne: null, $lt: new Date() } }],
    ['alternatives that all have an index', { $or: [{ _id: 'a' }, { accountId: 'b' }] }],
    ['alternatives that an index serves with the rest', { accountId: 'a', $or: [{ mode: 'live' }, { mode: 'test' }] }],
    ['several conditions of fields of one index', { $and: [{ mode: 'a' }, { accountId: 'b' }] }],
    ['the stricter of two conditions', { $and: [{ accountId: { $ne: 'a' } }, { accountId: 'b' }] }],
    ['a unique value, whatever else it asks', { number: '+1', status: 'a', $or: [{ kind: 'a' }, { kind: 'b' }] }],
    ['a value that few documents have, whatever else it asks', { userId: 'a', status: { $ne: 'b' } }],
    ['an index that lacks some documents, if it asks for others', { endedAt: RANGE, open: false }],
    ['a sparse index', { triedAt: RANGE }],
    ['the beginning of a text', { accountId: 'a', mode: { $regex: '^li' } }],
    ['a pattern of the beginning', { accountId: /^acct_1.*2$/ }],
  ])('by %s', (_, filter) => {
    expect(isServed(filter)).toBe(true);
  });

  it.each([
    ['only the second field of an index', { mode: 'live' }],
    ['a field that follows the range of an index', { accountId: 'a', mode: { $gt: 'a' }, createdAt: RANGE }],
    ['a field that follows one that it does not restrict', { accountId: 'a', createdAt: RANGE }],
    ['a field without an index', { status: 'FAILED' }],
    ['one field with an index and one without', { accountId: 'a', status: 'FAILED' }],
    ['fields of two indexes', { accountId: 'a', updatedAt: RANGE }],
    ['the presence of an indexed field', { accountId: { $exists: true } }],
    ['values that an indexed field does not have', { accountId: { $ne: 'a' } }],
    ['a pattern of an indexed field', { accountId: /a/ }],
    ['a beginning in any case', { accountId: /^a/i }],
    ['a beginning that may differ', { accountId: { $regex: '^(a|b)' } }],
    ['a field inside an indexed one', { 'accountId.part': 'a' }],
    ['alternatives of which one has no index', { $or: [{ _id: 'a' }, { status: 'b' }] }],
    ['alternatives that the index of the rest does not have', { accountId: 'a', $or: [{ kind: 'a' }, { kind: 'b' }] }],
    ['an index that lacks the documents', { endedAt: RANGE }],
    ['a missing value of a sparse index', { triedAt: null }],
    ['nothing', {}],
  ])('but not by %s', (_, filter) => {
    expect(isServed(filter)).toBe(false);
  });

  it('if the index has its order, or the opposite one', () => {
    expect(isServed({}, { updatedAt: 1, _id: 1 })).toBe(true);
    expect(isServed({}, { updatedAt: -1, _id: -1 })).toBe(true);
    expect(isServed({}, { updatedAt: 1 })).toBe(true);
    expect(isServed({ updatedAt: RANGE }, { updatedAt: 1, _id: 1 })).toBe(true);
    expect(isServed({ accountId: 'a', mode: 'live' }, { createdAt: -1, _id: 1 })).toBe(true);
    expect(isServed({ accountId: 'a', mode: 'live' }, { mode: 1, createdAt: 1, _id: -1 })).toBe(true);
    expect(isServed({ userId: 'a' }, { createdAt: -1 })).toBe(true);
  });

  it('but not if documents must be put in order', () => {
    expect(isServed({}, { updatedAt: 1, _id: -1 })).toBe(false);
    expect(isServed({}, { _id: 1, updatedAt: 1 })).toBe(false);
    expect(isServed({}, { status: 1 })).toBe(false);
    expect(isServed({ accountId: 'a' }, { createdAt: -1 })).toBe(false);
    expect(isServed({ accountId: 'a', mode: 'live' }, { createdAt: -1, _id: -1 })).toBe(false);
    expect(isServed({ status: 'a' }, { updatedAt: 1 })).toBe(false);
  });
});

describe('the check of recorded queries', () => {
  it('names each query that no declared index serves, once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'query-shapes-'));
    try {
      const file = join(folder, 'shapes.jsonl');
      const shape = (collection: string, filter: Record<string, unknown>, sort: string[] = []) =>
        JSON.stringify({ from: 'src/a.ts', collection, command: 'find', filter: filterShape(filter), sort });
      const lines = [
        shape('calls', { accountId: 'a', mode: 'live' }),
        shape('calls', { transcription: 'hello', mode: 'live' }),
        shape('calls', { mode: 'test', transcription: 'goodbye' }),
        shape('users', { 'setting.a1': 1 }),
        shape('users', { 'setting.a2': 1 }),
        shape('accounts', {}),
        shape('calls', { accountId: 'a', mode: 'live' }, ['-createdAt', '_id']),
        shape('calls', { accountId: 'a', mode: 'live', callee: '+1' }, ['createdAt', '_id']),
        shape('sessions', { userId: 'a' }, ['createdAt']),
      ];
      await writeFile(file, `${lines.join('\n')}\n`);
      expect(await findUnservedQueries(file)).toEqual([
        'src/a.ts: accounts by nothing',
        'src/a.ts: calls by accountId, callee, mode, ordered by createdAt, _id',
        'src/a.ts: calls by mode, transcription',
        'src/a.ts: users by setting.*',
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('fails if nothing was recorded', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'query-shapes-'));
    try {
      await writeFile(join(folder, 'shapes.jsonl'), '');
      await expect(findUnservedQueries(join(folder, 'shapes.jsonl'))).rejects.toThrow('no query');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('knows the indexes of every collection', () => {
    const indexes = declaredIndexes();
    const fieldsOf = (collection: string) => indexes.get(collection)?.map(({ fields }) => fields);
    expect(fieldsOf('calls')).toContainEqual(['accountId', 'mode', '-createdAt', '_id']);
    expect(indexes.get('webhook_attempts')).toContainEqual(index(['callId', 'number'], { isUnique: true, fewBy: 1 }));
    expect(indexes.get('recordings.files')).toContainEqual(index(['joinAfter'], { requires: ['joinAfter'] }));
    expect(indexes.get('web_legs')).toContainEqual(index(['endedAt'], { requires: ['open'] }));
  });
});
