// Counts the tests of one or more reports of jest; of a file that ran twice the later run counts.
//   node .ci/count-tests.mjs counts REPORT...   prints "<passed> <failed>"
//   node .ci/count-tests.mjs failed REPORT...   prints the files with a failure, a line each
import { readFileSync } from 'node:fs';

const [what, ...paths] = process.argv.slice(2);
const files = new Map();
for (const path of paths) {
  for (const result of JSON.parse(readFileSync(path, 'utf8')).testResults) files.set(result.name, result);
}
const results = [...files.values()];
const count = (status) =>
  results.flatMap(({ assertionResults }) => assertionResults).filter((test) => test.status === status).length;

if (what === 'failed') {
  for (const { name, status } of results) if (status === 'failed') console.log(name);
} else {
  // A file that could not be run at all, or failed in its clean-up, has no failed test to show for it.
  const broken = results.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  console.log(count('passed'), count('failed') + broken.length);
}
