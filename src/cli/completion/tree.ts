import type { Command, Option } from 'commander';

/** Something that may be typed next. */
export interface Word {
  text: string;
  description: string;
}

/** What the value of an option, or an argument, may be: a choice, a file, or whatever a person knows. */
export type Values = { kind: 'choices'; choices: readonly string[] } | { kind: 'file' } | { kind: 'free' };

export interface OptionNode extends Word {
  /** Undefined where none is taken. */
  values?: Values;
}

/** One command with what may follow it. */
export interface CommandNode {
  /** Names from the program down, without the program's own: empty for the program itself. */
  path: readonly string[];
  commands: readonly Word[];
  options: readonly OptionNode[];
  /** Choices of its first argument. */
  choices: readonly string[];
}

/** Every command of a program, as the program itself declares it. */
export function commandTree(program: Command): CommandNode[] {
  return nodesOf(program, [], []);
}

function nodesOf(command: Command, path: readonly string[], inherited: readonly OptionNode[]): CommandNode[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  const options = [...help.visibleOptions(command).flatMap(optionOf), ...inherited].filter(
    ({ text }, index, all) => all.findIndex((other) => other.text === text) === index,
  );
  const node: CommandNode = {
    path,
    commands: commands.map((each) => ({ text: each.name(), description: each.description() })),
    options,
    choices: command.registeredArguments[0]?.argChoices ?? [],
  };
  const below = commands.filter((each) => each.name() !== 'help');
  return [node, ...below.flatMap((each) => nodesOf(each, [...path, each.name()], options))];
}

function optionOf(option: Option): OptionNode[] {
  if (!option.long) return [];
  const takesValue = option.required || option.optional;
  return [{ text: option.long, description: option.description, ...(takesValue ? { values: valuesOf(option) } : {}) }];
}

function valuesOf({ argChoices, flags }: Option): Values {
  if (argChoices !== undefined) return { kind: 'choices', choices: argChoices };
  return flags.includes('<file>') ? { kind: 'file' } : { kind: 'free' };
}
