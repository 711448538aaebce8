import { stringify } from 'csv-stringify/sync';

/**
 * A cell that a spreadsheet takes for a formula. Some drop blanks, control characters and characters without a width
 * (joiners, marks of direction, byte order marks) before they look, and some take full-width and small forms.
 */
const FORMULA =
  /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]*[=+\-@\u{ff1d}\u{ff0b}\u{ff0d}\u{ff20}\u{fe66}\u{fe62}\u{fe63}\u{fe6b}]|^[\t\r\n]/u;
/** Quotes also where a reader could take a line end or a blank for its own. */
const FORM = { record_delimiter: 'windows', quoted_match: /[\r\n]|^\s|\s$/ } as const;

export type CsvCell = string | number | undefined;

/**
 * One record of a CSV (RFC 4180), with its line end. Text that a spreadsheet would take for a formula gets an apostrophe
 * in front; numbers are ours and stay numbers.
 */
export function csvRecord(cells: readonly CsvCell[]): string {
  return stringify([cells.map(safeCell)], FORM);
}

function safeCell(cell: CsvCell): CsvCell {
  return typeof cell === 'string' && FORMULA.test(cell) ? `'${cell}` : cell;
}

/** Characters of a piece, about: large enough to be worth sending, small enough to be held for each reader. */
const PIECE = 16_384;

/** A whole CSV in pieces: the header line, then a record of each row. Columns are taken from the rows by name. */
export async function* csvOf<Row extends object>(
  columns: readonly (keyof Row & string)[],
  rows: AsyncIterable<Row> | Iterable<Row>,
): AsyncGenerator<string> {
  // Many records at once cost a fraction of what each by itself does.
  let records: CsvCell[][] = [columns.map(safeCell)];
  let characters = 0;
  for await (const row of rows) {
    const cells = columns.map((column) => safeCell(row[column] as CsvCell));
    records.push(cells);
    characters += cells.reduce<number>((sum, cell) => sum + String(cell ?? '').length + 1, 0);
    if (characters < PIECE) continue;
    yield stringify(records, FORM);
    records = [];
    characters = 0;
  }
  if (records.length > 0) yield stringify(records, FORM);
}
