import type { CommandNode, OptionNode } from './tree.js';

/**
 * Returns the completion script of a shell. The script contains all words, so completion starts no process and never
 * executes the user's input.
 */
export function scriptOf(shell: 'bash' | 'zsh' | 'fish', nodes: readonly CommandNode[]): string {
  return { bash, zsh, fish }[shell](nodes);
}

function bash(nodes: readonly CommandNode[]): string {
  return `# Completion of callwright in bash.
_callwright() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD - 1]}" at='' words='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
${steps(nodes, (path, word) => `      ${quoted(`${path} ${word}`)}) at=${quoted(`${path} ${word}`)} ;;`)}
    esac
  done
  case "$at $prev" in
${values(nodes, {
  choices: (choices) => `words=${quoted(choices.join(' '))}`,
  file: () => `local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$cur")); compopt -o filenames 2>/dev/null; return`,
  free: () => `return`,
})}
    *)
      case "$at" in
${nodes
  .map(
    ({ path, options, ...node }) => `        ${quoted(nameOf(path))})
          words=${quoted(wordsOf({ ...node, path, options: [] }))}
          [[ $cur == -* ]] && words=${quoted(options.map(({ text }) => text).join(' '))} ;;`,
  )
  .join('\n')}
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _callwright callwright
`;
}

function zsh(nodes: readonly CommandNode[]): string {
  return `#compdef callwright
# Completion of callwright in zsh.
_callwright() {
  local at='' i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i]}" in
${steps(nodes, (path, word) => `      ${quoted(`${path} ${word}`)}) at=${quoted(`${path} ${word}`)} ;;`)}
    esac
  done
  case "$at \${words[CURRENT - 1]}" in
${values(nodes, {
  choices: (choices) => `compadd -- ${choices.map(quoted).join(' ')}; return`,
  file: () => '_files; return',
  free: () => 'return',
})}
  esac
  case "$at" in
${nodes
  .map(
    ({ path, commands, options, choices }) => `    ${quoted(nameOf(path))})
      if [[ \${words[CURRENT]} == -* ]]; then
        found=(${options.map(described).join(' ')})
        _describe -o option found
      else
        found=(${[...commands.map(described), ...choices.map(quoted)].join(' ')})
        _describe command found
      fi ;;`,
  )
  .join('\n')}
  esac
}
if [ "$funcstack[1]" = "_callwright" ]; then _callwright; else compdef _callwright callwright; fi
`;
}

function fish(nodes: readonly CommandNode[]): string {
  const lines = nodes.flatMap(({ path, commands, options, choices }) => {
    const here = `complete -c callwright -n ${quoted(`test (__callwright_at) = ${quotedInside(nameOf(path))}`)}`;
    return [
      ...commands.map(({ text, description }) => `${here} -a ${quoted(text)} -d ${quoted(description)}`),
      ...choices.map((choice) => `${here} -a ${quoted(choice)}`),
      ...options.map(
        (option) => `${here} -l ${quoted(option.text.slice(2))} -d ${quoted(option.description)}${fishValues(option)}`,
      ),
    ];
  });
  return `# Completion of callwright in fish.
function __callwright_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
${steps(nodes, (path, word) => `      case ${quoted(`${path} ${word}`)}\n        set at ${quoted(`${path} ${word}`)}`)}
    end
  end
  # Never empty, so that test has something to compare.
  echo "callwright$at"
end
complete -c callwright -f
${lines.join('\n')}
`;
}

function fishValues({ values: taken }: OptionNode): string {
  if (taken === undefined) return '';
  if (taken.kind === 'choices') return ` -x -a ${quoted(taken.choices.join(' '))}`;
  return taken.kind === 'file' ? ' -r -F' : ' -x';
}

/** Writes one line per subcommand. */
function steps(nodes: readonly CommandNode[], line: (path: string, word: string) => string): string {
  return nodes
    .flatMap(({ path, commands }) =>
      commands.filter(({ text }) => text !== 'help').map(({ text }) => line(nameOf(path), text)),
    )
    .join('\n');
}

type Line<A extends unknown[]> = (...args: A) => string;

/** Writes one branch per option that takes a value, grouped by command. */
function values(
  nodes: readonly CommandNode[],
  lines: { choices: Line<[readonly string[]]>; file: Line<[]>; free: Line<[]> },
): string {
  return nodes
    .flatMap(({ path, options }) =>
      options.flatMap(({ text, values: taken }) => {
        if (taken === undefined) return [];
        const does = taken.kind === 'choices' ? lines.choices(taken.choices) : lines[taken.kind]();
        return [`    ${quoted(`${nameOf(path)} ${text}`)}) ${does} ;;`];
      }),
    )
    .join('\n');
}

function wordsOf({ commands, choices }: CommandNode): string {
  return [...commands.map(({ text }) => text), ...choices].join(' ');
}

/** Returns the name of a command inside the scripts: its words, each with a leading space. */
function nameOf(path: readonly string[]): string {
  return path.map((word) => ` ${word}`).join('');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Returns a command's name in double quotes, for use inside a text in single quotes. */
function quotedInside(name: string): string {
  return `"callwright${name}"`;
}

function described({ text, description }: { text: string; description: string }): string {
  return quoted(`${text.replaceAll(':', '\\:')}:${description}`);
}
