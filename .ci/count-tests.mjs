// Counts the tests of one or more reports of jest; of a file that ran twice the later run counts.
//   node .ci/count-tests.mjs counts REPORT...         prints "<passed> <failed>"
//   node .ci/count-tests.mjs failed REPORT...         prints the files with a failure, a line each
//   node .ci/count-tests.mjs flaky AGAIN REPORT...    prints the files that failed in a REPORT and passed in AGAIN
import { existsSync, readFileSync } from 'node:fs';

const [what, ...paths] = process.argv.slice(2);

function resultsOf(reports) {
  const files = new Map();
  for (const path of reports) {
    for (const result of JSON.parse(readFileSync(path, 'utf8')).testResults) files.set(result.name, result);
  }
  return [...files.values()];
}

const namesWith = (status, results) => results.filter((result) => result.status === status).map(({ name }) => name);
const count = (status, results) =>
  results.flatMap(({ assertionResults }) => assertionResults).filter((test) => test.status === status).length;

if (what === 'failed') {
  for (const name of namesWith('failed', resultsOf(paths))) console.log(name);
} else if (what === 'flaky') {
  const [again, ...reports] = paths;
  // A run that was stopped has no report, so no file is known to have passed.
  const passed = new Set(existsSync(again) ? namesWith('passed', resultsOf([again])) : []);
  for (const name of namesWith('failed', resultsOf(reports))) if (passed.has(name)) console.log(name);
} else {
  const results = resultsOf(paths);
  // A file that could not be run at all, or failed in its clean-up, has no failed test to show for it.
  const broken = results.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  console.log(count('passed', results), count('failed', results) + broken.length);
}
