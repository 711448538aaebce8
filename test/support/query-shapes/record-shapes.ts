import { appendFileSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import mongoose, { type mongo } from 'mongoose';
import { filterShape, sortShape, type QueryShape } from './shape.js';

/**
 * Setup file of jest, and preloaded by processes that tests start (preload.ts): writes the shapes of the queries that the
 * service's code sends to the file of TEST_QUERY_SHAPES, one per line, each shape once. Queries of the tests themselves are
 * left out: the file that asks is found on the stack.
 */
const file = process.env['TEST_QUERY_SHAPES'];
const ROOT = process.env['TEST_ROOT'] ?? process.cwd();
/** Files of mongoose that send the queries of models. */
const MONGOOSE_SENDS = /\/mongoose\/lib\/(query|model|aggregate)\.js$/;
const SERVICE = ['src', 'activities', 'workers', 'deploy'];

/** Methods of the driver's collections whose first argument is a filter. */
const COLLECTION_METHODS = [
  'find',
  'findOne',
  'countDocuments',
  'updateOne',
  'updateMany',
  'deleteOne',
  'deleteMany',
  'findOneAndUpdate',
  'findOneAndDelete',
  'replaceOne',
];
/** Methods of models that send a query. */
const MODEL_METHODS = [
  ...COLLECTION_METHODS,
  'findById',
  'exists',
  'distinct',
  'findByIdAndUpdate',
  'findByIdAndDelete',
];

type Method = (this: unknown, ...args: unknown[]) => unknown;

function recordTo(path: string): void {
  const seen = new Set<string>();
  const origins = new WeakMap<object, string>();

  function record(shape: QueryShape): void {
    const line = JSON.stringify(shape);
    if (seen.has(line)) return;
    seen.add(line);
    appendFileSync(path, `${line}\n`);
  }

  // A mongoose query may get its order later, so it is recorded when it is sent.
  const { Model, Query } = mongoose as unknown as {
    Model: Record<string, Method>;
    Query: { prototype: { exec: Method } };
  };
  for (const name of MODEL_METHODS) {
    wrap(Model, name, (query) => {
      const from = serviceFile();
      if (from !== undefined && typeof query === 'object' && query !== null) origins.set(query, from);
    });
  }
  const exec = Query.prototype.exec;
  Query.prototype.exec = function (...args) {
    const query = this as mongoose.Query<unknown, unknown>;
    const from = origins.get(query);
    const { op = '', _distinct: distinct } = query as { op?: string; _distinct?: string };
    if (from !== undefined) {
      const sort = sortShape(query.getOptions().sort as object | undefined);
      const filter = filterShape(query.getFilter() as Record<string, unknown>);
      const collection = query.model.collection.collectionName;
      record({ from, collection, command: op, filter, sort: distinct === undefined ? sort : [distinct] });
    }
    return exec.apply(this, args);
  };

  // Mongoose calls these methods, too, for queries that are recorded above.
  const collections = mongoose.mongo.Collection.prototype as unknown as Record<string, Method>;
  for (const name of COLLECTION_METHODS) {
    wrap(collections, name, (result, self, [filter, options]) => {
      const from = serviceFile({ ofModels: false });
      if (from === undefined) return;
      const { collectionName: collection } = self as mongo.Collection;
      const shape = { from, collection, command: name, filter: filterShape((filter ?? {}) as Record<string, unknown>) };
      const given = sortShape((options as { sort?: object } | undefined)?.sort);
      if (name !== 'find') return record({ ...shape, sort: given });
      // A cursor may get its order later.
      const cursor = result as { sort: Method };
      if (given.length > 0) return record({ ...shape, sort: given });
      let sort: string[] = [];
      wrap(cursor as unknown as Record<string, Method>, 'sort', (_, __, [order]) => {
        sort = sortShape(order as object);
      });
      setImmediate(() => record({ ...shape, sort }));
    });
  }
  wrap(collections, 'bulkWrite', (_, self, [operations]) => {
    const from = serviceFile({ ofModels: false });
    if (from === undefined) return;
    const { collectionName: collection } = self as mongo.Collection;
    for (const operation of operations as Record<string, { filter?: Record<string, unknown> }>[]) {
      for (const [command, { filter }] of Object.entries(operation)) {
        if (filter !== undefined) record({ from, collection, command, filter: filterShape(filter), sort: [] });
      }
    }
  });
}

/** Lets `after` see each call of a method, with its result. */
function wrap(
  owner: Record<string, Method>,
  name: string,
  after: (result: unknown, self: unknown, args: unknown[]) => void,
): void {
  const method = owner[name] as Method;
  owner[name] = function (this: unknown, ...args) {
    const result = method.apply(this, args);
    after(result, this, args);
    return result;
  };
}

/** The first file on the stack that is neither a dependency nor this one, if it belongs to the service. */
function serviceFile({ ofModels = true } = {}): string | undefined {
  const before = Object.getOwnPropertyDescriptors(Error);
  // The call sites themselves: mapping them to the source, as jest does, would be slow.
  Error.prepareStackTrace = (_, sites) => sites;
  Error.stackTraceLimit = 25;
  const sites = new Error().stack as unknown as NodeJS.CallSite[];
  const { prepareStackTrace, stackTraceLimit } = before;
  Object.defineProperty(Error, 'stackTraceLimit', stackTraceLimit);
  if (prepareStackTrace === undefined) Reflect.deleteProperty(Error, 'prepareStackTrace');
  else Object.defineProperty(Error, 'prepareStackTrace', prepareStackTrace);
  const files = sites.map((site) => site.getFileName() ?? '');
  if (!ofModels && files.some((name) => MONGOOSE_SENDS.test(name))) return undefined;
  const own = files.find((name) => name.startsWith(ROOT) && !name.includes('node_modules') && name !== __filename);
  if (own === undefined) return undefined;
  const path = sourceOf(relative(ROOT, own));
  return SERVICE.includes(path.split(sep)[0] ?? '') ? path : undefined;
}

/** The source of a file of the build, which other processes run. */
function sourceOf(path: string): string {
  const [folder, ...rest] = path.split(sep);
  return folder === 'dist' ? rest.join(sep).replace(/\.js$/, '.ts') : path;
}

if (file !== undefined && isMainThread) recordTo(file);
