const LEVELS: Record<number, string> = { 10: 'trace', 20: 'debug', 40: 'WARN', 50: 'ERROR', 60: 'FATAL' };
const NAME_WIDTH = 9;

/**
 * Formats a role's log line for a terminal: role, time, message. Lines that our logger did not write stay unchanged.
 */
export function formatLogLine(role: string, line: string): string {
  const prefix = `${role.padEnd(NAME_WIDTH)} | `;
  const entry = parse(line);
  if (entry === undefined) return prefix + line;
  const { level, time, role: _role, msg, err, ...rest } = entry;
  const word = LEVELS[Number(level)];
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${textOf(value)}`);
  const parts = [String(time).slice(11, 23), word, textOf(msg ?? ''), ...fields, errorOf(err)];
  return prefix + parts.filter(Boolean).join(' ');
}

/** Whether the line is a warning or worse. True also for lines that our logger did not write. */
export function isAlarming(line: string): boolean {
  const entry = parse(line);
  return entry === undefined || Number(entry.level) >= 40;
}

function parse(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function errorOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { message, stack } = error as { message?: unknown; stack?: unknown };
  return `\n    ${String(stack ?? message).replaceAll('\n', '\n    ')}`;
}
