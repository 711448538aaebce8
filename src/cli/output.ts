import { once } from 'node:events';
import type { Micros } from '../kernel/money.js';
import type { CliProcess } from './run.js';
import { jsonText, printable } from './terminal.js';

type Cell = string | number | boolean | null | undefined;

/** Prints results: JSON for scripts, tables and text for people. */
export interface Output {
  readonly json: boolean;
  /** `rows` is the JSON output. People see `shown`, with the given columns and their headings. */
  table(rows: readonly object[], columns: Record<string, string>, shown?: readonly object[]): Promise<void>;
  /**
   * Writes text as it arrives, no faster than the output accepts it. Files and pipes receive it unchanged, a terminal
   * without control characters.
   */
  pieces(text: AsyncIterable<string>): Promise<void>;
  /** Writes one object. People see a sentence and below it the object's fields, or those of `shown`. */
  record(sentence: string, value: object, shown?: object): Promise<void>;
  /** Writes one page of a list. The JSON output is the page itself; people see its entries as a table. */
  page(
    page: { data: readonly object[]; has_more: boolean },
    columns: Record<string, string>,
    shown?: readonly object[],
  ): Promise<void>;
  /** Writes one item of a stream: the object as JSON on one line, or `text` for people. */
  line(value: object, text: string): void;
}

export function createOutput(process: Pick<CliProcess, 'stdout'>, json: boolean): Output {
  const write = (text: string) => void process.stdout.write(`${text}\n`);
  const asJson = (value: unknown) => write(jsonText(value, 2));
  return {
    json,
    async table(rows, columns, shown = rows) {
      if (json) return asJson(rows);
      if (rows.length === 0) return write('None.');
      const { default: Table } = await import('cli-table3');
      const table = new Table({ head: Object.values(columns), style: { head: [], border: [] } });
      for (const row of shown) table.push(Object.keys(columns).map((name) => cell(Reflect.get(row, name))));
      write(table.toString());
    },
    async pieces(text) {
      const { stdout } = process;
      for await (const piece of text) {
        if (!stdout.write(stdout.isTTY ? printable(piece.replaceAll('\r', '')) : piece)) await once(stdout, 'drain');
      }
    },
    async page(page, columns, shown = page.data) {
      if (json) return asJson(page);
      await this.table(page.data, columns, shown);
      if (page.has_more) write('More entries exist. Use --all, --limit or --cursor.');
    },
    line(value, text) {
      write(json ? jsonText(value) : printable(text));
    },
    async record(sentence, value, shown = value) {
      if (json) return asJson(value);
      if (sentence !== '') write(printable(sentence));
      const fields = Object.entries(shown).map(
        ([name, field]) => [printable(name).replace(/\s/gu, ' '), cell(field)] as const,
      );
      const width = Math.max(0, ...fields.map(([name]) => name.length)) + 3;
      // Do not shorten values, because the terminal wraps long lines.
      for (const [name, text] of fields) {
        write(` ${name.padEnd(width - 1)}${text.replaceAll('\n', `\n${' '.repeat(width)}`)}`.trimEnd());
      }
    },
  };
}

/** Formats micro-USD exactly, with at least two decimals: `12.50`, `0.0025`. */
export function formatUsd(micros: Micros): string {
  const sign = micros < 0 ? '-' : '';
  const digits = String(Math.abs(micros)).padStart(7, '0');
  const decimals = digits.slice(-6).replace(/0{1,4}$/, '');
  return `${sign}${digits.slice(0, -6)}.${decimals}`;
}

function cell(value: unknown): string {
  if (typeof value === 'object' && value !== null) return jsonText(value);
  const shown = value as Cell;
  return shown === undefined || shown === null ? '' : printable(String(shown));
}
