import { once } from 'node:events';
import type { Micros } from '../kernel/money.js';
import type { CliProcess } from './run.js';
import { jsonText, printable } from './terminal.js';

type Cell = string | number | boolean | null | undefined;

/** How results are shown: JSON for scripts, a table or a line for people. */
export interface Output {
  readonly json: boolean;
  /** `rows` is the JSON answer; people see the columns named, each with its heading, of `shown`. */
  table(rows: readonly object[], columns: Record<string, string>, shown?: readonly object[]): Promise<void>;
  /** Text as it comes, at the pace at which it is read: to the byte in files and pipes, fit for a terminal in one. */
  pieces(text: AsyncIterable<string>): Promise<void>;
  /** One object: its fields for people, under a sentence. `shown` has fewer or friendlier ones. */
  record(sentence: string, value: object, shown?: object): Promise<void>;
  /** A page of a list: the page itself is the JSON answer, its entries are a table for people. */
  page(
    page: { data: readonly object[]; has_more: boolean },
    columns: Record<string, string>,
    shown?: readonly object[],
  ): Promise<void>;
  /** One thing of many as it comes: an object on one line, or the text for people. */
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
      if (page.has_more) write('There are more: --all, --limit or --cursor shows them.');
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
      // Whole, however long: the terminal wraps it.
      for (const [name, text] of fields) {
        write(` ${name.padEnd(width - 1)}${text.replaceAll('\n', `\n${' '.repeat(width)}`)}`.trimEnd());
      }
    },
  };
}

/** USD to the last micro, with no more zeros than cents need: `12.50`, `0.0025`. */
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
