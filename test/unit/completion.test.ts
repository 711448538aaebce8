import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { scriptOf } from '../../src/cli/completion/scripts.js';
import { commandTree } from '../../src/cli/completion/tree.js';
import { createProgram } from '../../src/cli/program.js';

describe('completion in bash', () => {
  const program = createProgram(process);
  const folder = mkdtempSync(join(tmpdir(), 'callwright-completion-'));
  const script = join(folder, 'callwright.bash');
  beforeAll(() => writeFileSync(script, scriptOf('bash', commandTree(program))));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Returns what bash offers as completions. The last of the words is the one that the user is typing. */
  function offered(...words: string[]): string[] {
    const commands =
      'source "$0"; source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _callwright; printf "%s\\n" "${COMPREPLY[@]}"';
    const text = execFileSync('bash', ['--norc', '-uc', commands, script, 'callwright', ...words], { cwd: folder });
    return text.toString().split('\n').filter(Boolean);
  }

  const namesOf = (command: Command) =>
    command
      .createHelp()
      .visibleCommands(command)
      .map((each) => each.name());
  const below = (...path: string[]) =>
    path.reduce((command, name) => command.commands.find((each) => each.name() === name) ?? command, program);

  it('offers every command, filtered by what was typed', () => {
    expect(offered('')).toEqual(namesOf(program));
    expect(offered('cal')).toEqual(['calls']);
    expect(offered('calls', '')).toEqual(['create', 'get', 'list', 'cancel', 'tail', 'help']);
    expect(offered('admin', 'accounts', '')).toEqual(namesOf(below('admin', 'accounts')));
  });

  it('offers the options of a command and of its parent commands', () => {
    const options = offered('calls', 'list', '--');
    expect(options).toEqual(expect.arrayContaining(['--status', '--limit', '--url', '--api-key-file', '--json']));
    expect(options).not.toContain('--wait');
    expect(offered('calls', '--json', 'create', '--w')).toEqual(['--webhook-url', '--wait']);
  });

  it('offers the choices of options and arguments, and file names, but nothing for unknown values', () => {
    expect(offered('calls', 'list', '--status', 'C')).toEqual(['COMPLETED', 'CANCELLED']);
    expect(offered('completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(offered('balance', '--api-key-file', 'callw')).toEqual(['callwright.bash']);
    expect(offered('calls', 'list', '--agent', '')).toEqual([]);
  });

  it('does not execute what was typed', () => {
    expect(offered('calls', 'create', '--instruction', '$(touch ran)', '--w')).toEqual(['--webhook-url', '--wait']);
    expect(offered('calls', 'create', '--api-key-file', '')).toEqual(['callwright.bash']);
  });
});

describe('completion in other shells', () => {
  it.each(['zsh', 'fish'] as const)('lists every command with its description in %s', (shell) => {
    const nodes = commandTree(createProgram(process));
    const script = scriptOf(shell, nodes);
    for (const { path, commands } of nodes) {
      expect(script).toContain(path.join(' '));
      for (const { description } of commands) expect(script).toContain(description.replaceAll("'", "'\\''"));
    }
  });
});
