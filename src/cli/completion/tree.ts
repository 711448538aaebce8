import type { Command, Option } from 'commander';

/** A word that completion may suggest. */
export interface Word {
  text: string;
  description: string;
}

/** The possible values of an option or argument: choices, a file, or free text. */
export type Values = { kind: 'choices'; choices: readonly string[] } | { kind: 'file' } | { kind: 'free' };

export interface OptionNode extends Word {
  /** Absent for an option without a value. */
  values?: Values;
}

/** A command with its subcommands and options. */
export interface CommandNode {
  /** The command's words without the program's own name; empty for the program itself. */
  path: readonly string[];
  commands: readonly Word[];
  options: readonly OptionNode[];
  /** Choices of the first argument. */
  choices: readonly string[];
}

/** Lists all commands of a program, as declared with commander. */
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
