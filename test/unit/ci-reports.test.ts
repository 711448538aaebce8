import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SCRIPT = join(__dirname, '../../.ci/count-tests.mjs');

describe('the reports of CI', () => {
  const folder = mkdtempSync(join(tmpdir(), 'callwright-ci-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Writes a report of jest with one test per file. */
  function report(name: string, files: Record<string, 'passed' | 'failed'>): string {
    const testResults = Object.entries(files).map(([file, status]) => ({
      name: file,
      status,
      assertionResults: [{ status }],
    }));
    writeFileSync(join(folder, name), JSON.stringify({ testResults }));
    return join(folder, name);
  }

  const print = (...args: string[]) => execFileSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' });

  it('name as flaky only the files that failed and passed when they ran again', () => {
    const first = report('first.json', { 'a.test.ts': 'failed', 'b.test.ts': 'failed', 'c.test.ts': 'passed' });
    const others = report('others.json', { 'd.test.ts': 'failed' });
    const again = report('again.json', { 'a.test.ts': 'passed', 'b.test.ts': 'failed' });
    expect(print('flaky', again, first, others)).toBe('a.test.ts\n');
    expect(print('failed', first, others)).toBe('a.test.ts\nb.test.ts\nd.test.ts\n');
    expect(print('counts', first, others, again)).toBe('2 2\n');
  });

  it('name no flaky file if the second run was stopped and left no report', () => {
    const first = report('first.json', { 'a.test.ts': 'failed' });
    expect(print('flaky', join(folder, 'none.json'), first)).toBe('');
    expect(print('counts', first)).toBe('0 1\n');
  });
});
