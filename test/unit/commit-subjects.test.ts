import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../structure/sources.js';

const SCRIPT = join(ROOT, '.ci/check-commits');

describe('.ci/check-commits', () => {
  let folder: string;
  let repository: string;
  let before: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'callwright-commits-'));
    repository = join(folder, 'origin');
    git(folder, 'init', '--quiet', '--initial-branch=main', repository);
    before = commit('Old commits may say anything, at any length, because they were made before the rule');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function git(cwd: string, ...args: string[]): string {
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'commit.gpgsign=false'];
    return execFileSync('git', [...identity, ...args], { cwd, encoding: 'utf8' }).trim();
  }
  function commit(subject: string): string {
    git(repository, 'commit', '--quiet', '--allow-empty', '-m', subject);
    return git(repository, 'rev-parse', 'HEAD');
  }
  function check(cwd = repository) {
    const env = { ...process.env, CHECK_COMMITS_AFTER: before };
    const { status, stdout } = spawnSync(SCRIPT, [cwd], { env, encoding: 'utf8' });
    return { status, stdout };
  }

  it('accepts conventional subjects of at most 72 characters after the first commit of the rule', () => {
    commit('fix(voice): ignore late transcripts of finished turns');
    commit('feat!: rename a field');
    expect(check()).toEqual({ status: 0, stdout: expect.stringContaining('2 new commits, 0 with') as string });
  });

  it('lists each subject that is too long or has another form', () => {
    commit(`docs: ${'x'.repeat(67)}`);
    commit('Rewrite the docs');
    const { status, stdout } = check();
    expect(status).toBe(1);
    expect(stdout).toContain('has 73 characters, 72 are allowed');
    expect(stdout).toContain('"Rewrite the docs" does not have the form');
  });

  it('checks the commits of a shallow clone', () => {
    commit('docs: explain commits');
    const shallow = join(folder, 'shallow');
    git(folder, 'clone', '--quiet', '--depth=1', `file://${repository}`, shallow);
    expect(check(shallow)).toEqual({ status: 0, stdout: expect.stringMatching(/shallow.*\n1 new commits/) as string });
  });

  it('fails if the first commit of the rule is not in the history', () => {
    git(repository, 'checkout', '--quiet', '--orphan', 'other');
    commit('docs: explain commits');
    expect(check()).toEqual({ status: 1, stdout: expect.stringContaining('not part of this history') as string });
  });

  it('passes in a folder without a Git history', () => {
    const bare = mkdtempSync(join(tmpdir(), 'callwright-no-history-'));
    try {
      expect(check(bare)).toEqual({ status: 0, stdout: expect.stringContaining('not checked') as string });
    } finally {
      rmSync(bare, { recursive: true, force: true });
    }
  });
});
