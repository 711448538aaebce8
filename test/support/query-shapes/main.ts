import { findUnservedQueries } from './check-shapes.js';

/** Checks a file of recorded queries, named by the argument. Exits with 1 if one of them has no declared index. */
findUnservedQueries(process.argv[2] ?? '').then(
  (unserved) => {
    for (const query of unserved) process.stderr.write(`no declared index serves the query "${query}"\n`);
    process.exit(unserved.length === 0 ? 0 : 1);
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  },
);
