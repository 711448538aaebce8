import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** A database command that a process sent, as `record-commands.cjs` writes it. */
export interface RecordedCommand {
  role: string;
  at: number;
  /** The HTTP request or activity that sent the command, or `background`. */
  operation: string;
  /** The name of the command in MongoDB, such as `find` or `update`. */
  command: string;
  collection: string;
}

/** Commands of one operation, each with its number per unit (call or request). */
export interface OperationCommands {
  role: string;
  operation: string;
  perUnit: number;
  commands: { name: string; perUnit: number }[];
}

/** Parses the lines of a file with recorded commands. Ignores a last line that is not complete. */
export function parseCommands(text: string): RecordedCommand[] {
  const lines = text.split('\n');
  return lines
    .slice(0, -1)
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as RecordedCommand);
}

/**
 * Counts commands by role and operation, and by name within an operation. Operations stay in the order in which they
 * first occur, and so do the commands of an operation.
 * @param units number of calls or requests during which the commands were sent
 */
export function countCommands(commands: readonly RecordedCommand[], units: number): OperationCommands[] {
  const operations = new Map<string, OperationCommands & { counts: Map<string, number> }>();
  for (const { role, operation, command, collection } of commands) {
    const key = `${role} ${operation}`;
    const counted = operations.get(key) ?? { role, operation, perUnit: 0, commands: [], counts: new Map() };
    operations.set(key, counted);
    const name = collection === '' ? command : `${command} ${collection}`;
    counted.counts.set(name, (counted.counts.get(name) ?? 0) + 1);
  }
  return [...operations.values()].map(({ role, operation, counts }) => ({
    role,
    operation,
    perUnit: [...counts.values()].reduce((sum, count) => sum + count, 0) / units,
    commands: [...counts].map(([name, count]) => ({ name, perUnit: count / units })),
  }));
}

/** Formats the counts of each operation as lines: its name and total, then its commands. */
export function describeCommands(operations: readonly OperationCommands[]): string[] {
  return operations.map(({ role, operation, perUnit, commands }) => {
    const named = commands.map(({ name, perUnit: each }) => (each === 1 ? name : `${short(each)} × ${name}`));
    return `${role}: ${operation}: ${short(perUnit)} (${named.join(', ')})`;
  });
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

const QUIET_MS = 400;
const QUIET_WITHIN_MS = 20_000;

/** The file to which monitored processes write their commands. */
export function createCommandLog(file: string) {
  const read = async () => parseCommands(await readFile(file, 'utf8').catch(() => ''));
  /** Waits until no operation has sent a command for a while. Ignores the background, which never ends. */
  async function untilQuiet(): Promise<RecordedCommand[]> {
    const giveUpAt = Date.now() + QUIET_WITHIN_MS;
    for (;;) {
      const commands = await read();
      const last = commands.findLast(({ operation }) => operation !== 'background')?.at ?? 0;
      if (Date.now() - last > QUIET_MS || Date.now() > giveUpAt) return commands;
      await sleep(50);
    }
  }
  return {
    file,
    /** Returns the commands that were sent while `act` ran and until everything that it started was over. */
    async during(act: () => Promise<unknown>): Promise<RecordedCommand[]> {
      const before = (await untilQuiet()).length;
      await act();
      return (await untilQuiet()).slice(before);
    },
  };
}
