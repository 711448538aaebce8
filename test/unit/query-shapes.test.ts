import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { declaredIndexes, findUnservedQueries } from '../support/query-shapes/check-shapes.js';
import { filterShape, isServedBy } from '../support/query-shapes/shape.js';

const INDEXES = [['_id'], ['accountId', 'mode', 'createdAt'], ['updatedAt', '_id']];

function isServed(filter: Record<string, unknown>, sort: string[] = []): boolean {
  return isServedBy(INDEXES, { filter: filterShape(filter), sort });
}

describe('a query is served by an index', () => {
  it.each([
    ['the id', { _id: 'call_1' }],
    ['some ids', { _id: { $in: ['a', 'b'] } }],
    ['the first field of an index', { accountId: 'a' }],
    ['a missing value of the first field', { accountId: null }],
    ['a range of the first field', { updatedAt: { $lte: new Date() } }],
    ['a range and another condition', { updatedAt: { $ne: null, $lt: new Date() } }],
    ['alternatives that all have an index', { $or: [{ _id: 'a' }, { accountId: 'b' }] }],
    ['one of several conditions', { $and: [{ status: 'a' }, { accountId: 'b' }] }],
    ['the stricter of two conditions', { $and: [{ accountId: { $ne: 'a' } }, { accountId: 'b' }] }],
  ])('by %s', (_, filter) => {
    expect(isServed(filter)).toBe(true);
  });

  it.each([
    ['only the second field of an index', { mode: 'live' }],
    ['a field without an index', { status: 'FAILED' }],
    ['the presence of an indexed field', { accountId: { $exists: true } }],
    ['values that an indexed field does not have', { accountId: { $ne: 'a' } }],
    ['a pattern of an indexed field', { accountId: /a/ }],
    ['a field inside an indexed one', { 'accountId.part': 'a' }],
    ['alternatives of which one has no index', { $or: [{ _id: 'a' }, { status: 'b' }] }],
    ['nothing', {}],
  ])('but not by %s', (_, filter) => {
    expect(isServed(filter)).toBe(false);
  });

  it('if the index has its order', () => {
    expect(isServed({}, ['updatedAt', '_id'])).toBe(true);
    expect(isServed({}, ['updatedAt'])).toBe(true);
    expect(isServed({}, ['_id', 'updatedAt'])).toBe(false);
    expect(isServed({}, ['status'])).toBe(false);
  });
});

describe('the check of recorded queries', () => {
  it('names each query that no declared index serves, once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'query-shapes-'));
    try {
      const file = join(folder, 'shapes.jsonl');
      const shape = (collection: string, filter: Record<string, unknown>) =>
        JSON.stringify({ from: 'src/a.ts', collection, command: 'find', filter: filterShape(filter), sort: [] });
      const lines = [
        shape('calls', { accountId: 'a', mode: 'live' }),
        shape('calls', { transcription: 'hello', mode: 'live' }),
        shape('calls', { mode: 'test', transcription: 'goodbye' }),
        shape('users', { 'setting.a1': 1 }),
        shape('users', { 'setting.a2': 1 }),
        shape('accounts', {}),
      ];
      await writeFile(file, `${lines.join('\n')}\n`);
      expect(await findUnservedQueries(file)).toEqual([
        'src/a.ts: accounts by nothing',
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
    expect(indexes.get('calls')).toContainEqual(['accountId', 'mode', 'createdAt', '_id']);
    expect(indexes.get('webhook_attempts')).toContainEqual(['callId', 'number']);
  });
});
