import { stringify } from 'csv-stringify/sync';

/**
 * Matches a cell that a spreadsheet may interpret as a formula. Some ignore leading spaces, control characters and
 * zero-width characters (joiners, direction marks, byte order marks), and some accept full-width and small forms.
 */
const FORMULA =
  /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]*[=+\-@\u{ff1d}\u{ff0b}\u{ff0d}\u{ff20}\u{fe66}\u{fe62}\u{fe63}\u{fe6b}]|^[\t\r\n]/u;
/**
 * Quotes cells with line breaks, or leading or trailing spaces, too. Some programs would misread or trim them
 * otherwise.
 */
const FORM = { record_delimiter: 'windows', quoted_match: /[\r\n]|^\s|\s$/ } as const;

export type CsvCell = string | number | undefined;

/**
 * Formats one CSV record (RFC 4180) with its line end. Text that looks like a formula gets an apostrophe in front.
 * Numbers get none, because customers cannot choose them.
 */
export function csvRecord(cells: readonly CsvCell[]): string {
  return stringify([cells.map(safeCell)], FORM);
}

function safeCell(cell: CsvCell): CsvCell {
  return typeof cell === 'string' && FORMULA.test(cell) ? `'${cell}` : cell;
}

/** Approximate chunk size in characters: large enough to send efficiently, small enough to buffer for each client. */
const PIECE = 16_384;

/** Yields a CSV in chunks: the header row, then one record per row. `columns` are the names of the row's properties. */
export async function* csvOf<Row extends object>(
  columns: readonly (keyof Row & string)[],
  rows: AsyncIterable<Row> | Iterable<Row>,
): AsyncGenerator<string> {
  // Formatting many records at once is much cheaper than one at a time.
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
