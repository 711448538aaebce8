import { readFileSync, statSync } from 'node:fs';
import { DEFAULT_RATE_DECK, parseRateDeck, type RateDeck } from '../../kernel/destinations/rate-deck.js';

const MAX_BYTES = 16 * 1_024 * 1_024;

/**
 * Reads the operator's rate deck once, at start-up; changes to the file apply after a restart.
 * @param file path of the CSV file; absent: every call has the default price
 * @throws Error that names the file, and each invalid line with what it must be
 */
export function readRateDeck(file: string | undefined): RateDeck {
  if (file === undefined) return DEFAULT_RATE_DECK;
  const parsed = parseRateDeck(textOf(file));
  if ('deck' in parsed) return parsed.deck;
  throw new Error(`RATE_DECK_FILE: ${file} is not a valid rate deck: ${parsed.faults.join('; ')}.`);
}

function textOf(file: string): string {
  let fault: string;
  try {
    const stats = statSync(file);
    if (stats.isFile() && stats.size <= MAX_BYTES) return readFileSync(file, 'utf8');
    fault = stats.isFile() ? `it has more than ${MAX_BYTES} bytes` : 'it is not a file';
  } catch (error) {
    fault = (error as NodeJS.ErrnoException).code ?? String(error);
  }
  throw new Error(`RATE_DECK_FILE: ${file} cannot be read: ${fault}.`);
}
