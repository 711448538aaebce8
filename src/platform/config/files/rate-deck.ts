import { DEFAULT_RATE_DECK, parseRateDeck, type RateDeck } from '../../../kernel/destinations/rate-deck.js';
import { readConfigFile } from './read-file.js';

const MAX_BYTES = 16 * 1_024 * 1_024;

/**
 * Reads the operator's rate deck once, at start-up; changes to the file apply after a restart.
 * @param file path of the CSV file; absent: every call has the default price
 * @throws Error that names the file, and each invalid line with what it must be
 */
export function readRateDeck(file: string | undefined): RateDeck {
  if (file === undefined) return DEFAULT_RATE_DECK;
  const parsed = parseRateDeck(readConfigFile('RATE_DECK_FILE', file, MAX_BYTES));
  if ('deck' in parsed) return parsed.deck;
  throw new Error(`RATE_DECK_FILE: ${file} is not a valid rate deck: ${parsed.faults.join('; ')}.`);
}
