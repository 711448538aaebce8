/**
 * A cell that a spreadsheet takes for a formula. Some drop blanks, control characters and characters without a width
 * (joiners, marks of direction, byte order marks) before they look, and some take full-width and small forms.
 */
const FORMULA =
  /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]*[=+\-@\u{ff1d}\u{ff0b}\u{ff0d}\u{ff20}\u{fe66}\u{fe62}\u{fe63}\u{fe6b}]|^[\t\r\n]/u;
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/;

export type CsvCell = string | number | undefined;

/**
 * One record of a CSV (RFC 4180), with its line end. Text that a spreadsheet would take for a formula gets an apostrophe
 * in front; numbers are ours and stay numbers.
 */
export function csvRecord(cells: readonly CsvCell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(cell: CsvCell): string {
  if (cell === undefined) return '';
  if (typeof cell === 'number') return String(cell);
  const safe = FORMULA.test(cell) ? `'${cell}` : cell;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Characters of a piece, about: large enough to be worth sending, small enough to be held for each reader. */
const PIECE = 16_384;

/** A whole CSV in pieces: the header line, then a record of each row. Columns are taken from the rows by name. */
export async function* csvOf<Row extends object>(
  columns: readonly (keyof Row & string)[],
  rows: AsyncIterable<Row> | Iterable<Row>,
): AsyncGenerator<string> {
  let piece = csvRecord(columns);
  for await (const row of rows) {
    piece += csvRecord(columns.map((column) => row[column] as CsvCell));
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}
