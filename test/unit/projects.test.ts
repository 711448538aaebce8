import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { sourceFiles } from '../support/regular-expressions';

const ROOT = join(__dirname, '../..');
const PROJECTS = ['realtime', 'realtime-e2e', 'unit', 'servers', 'timing', 'e2e'];

function filesOf(project: string): string[] {
  const jest = [require.resolve('jest/bin/jest'), '--listTests', '--json', '--selectProjects', project];
  return JSON.parse(execFileSync(process.execPath, jest, { cwd: ROOT, encoding: 'utf8' })) as string[];
}

it('every test file belongs to exactly one Jest project', () => {
  const present = sourceFiles(ROOT, ['test'])
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => join(ROOT, path));
  expect(PROJECTS.flatMap(filesOf).toSorted()).toEqual(present.toSorted());
});
