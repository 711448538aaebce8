import { Argument, type Command } from 'commander';
import type { CliProcess } from '../run.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

const HOW = `
Load it at the start of each shell, so that it matches the installed version:
  bash   source <(callwright completion bash)       in ~/.bashrc
  zsh    source <(callwright completion zsh)        in ~/.zshrc, after compinit
  fish   callwright completion fish | source        in ~/.config/fish/config.fish`;

/**
 * Adds `callwright completion <shell>`: prints a script that completes every command, option and choice of this
 * program.
 */
export function addCompletionCommand(program: Command, process: CliProcess): void {
  program
    .command('completion')
    .description('print a shell completion script')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText('after', HOW)
    .action(async (shell: (typeof SHELLS)[number]) => {
      const [{ commandTree }, { scriptOf }] = await Promise.all([import('./tree.js'), import('./scripts.js')]);
      process.stdout.write(scriptOf(shell, commandTree(program)));
    });
}
