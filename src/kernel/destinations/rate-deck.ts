import { DEFAULT_MICROS_PER_SECOND, MAX_MICROS_PER_SECOND, type Micros } from '../money.js';

/** Prices of calls in micro-USD per second. */
export interface RateDeck {
  /** Prices by leading digits of the called number; the longest matching prefix applies. */
  prefixes: ReadonlyMap<string, Micros>;
  longest: number;
  /** Price for numbers without a matching prefix. */
  otherwise: Micros;
  /** Price of inbound calls, whatever number was called. */
  inbound: Micros;
}

/** The prices if no rate deck is configured: every call costs the same. */
export const DEFAULT_RATE_DECK: RateDeck = {
  prefixes: new Map(),
  longest: 0,
  otherwise: DEFAULT_MICROS_PER_SECOND,
  inbound: DEFAULT_MICROS_PER_SECOND,
};

/** Returns the price per second of a call to this E.164 number. */
export function rateTo(deck: RateDeck, number: string): Micros {
  const digits = number.replace(/^\+/, '');
  for (let length = Math.min(deck.longest, digits.length); length > 0; length--) {
    const rate = deck.prefixes.get(digits.slice(0, length));
    if (rate !== undefined) return rate;
  }
  return deck.otherwise;
}

/** Lowest prices by deck, because a deck can have many prefixes. */
const LOWEST = new WeakMap<RateDeck, Micros>();

/** Returns the lowest price per second of any call. */
export function lowestRate(deck: RateDeck): Micros {
  const known = LOWEST.get(deck);
  if (known !== undefined) return known;
  let lowest = Math.min(deck.otherwise, deck.inbound);
  for (const rate of deck.prefixes.values()) lowest = Math.min(lowest, rate);
  LOWEST.set(deck, lowest);
  return lowest;
}

/**
 * Whether a call may be transferred to this number. The price of the call does not change, so the number must not be
 * more expensive; otherwise the operator would pay the difference.
 */
export function isTransferAffordable(deck: RateDeck, number: string, microsPerSecond: Micros): boolean {
  return rateTo(deck, number) <= microsPerSecond;
}

const HEADER = 'prefix,micro_usd_per_second';
const PREFIX = /^\+?([1-9]\d{0,14})$/;
const RATE = /^[1-9]\d{0,8}$/;
const MAX_LINES = 500_000;
const MAX_FAULTS = 10;

/**
 * Parses a rate deck from CSV lines `prefix,micro_usd_per_second`. The header line is optional. The prefix `default`
 * sets the price of unlisted prefixes, and `inbound` that of inbound calls; without them the price is 2,500. Empty
 * lines and lines that start with # are skipped.
 * @returns the deck, or up to 10 faults with their line numbers; one fault rejects the whole deck
 */
export function parseRateDeck(csv: string): { deck: RateDeck } | { faults: string[] } {
  const rates = new Map<string, Micros>();
  const lineOf = new Map<string, number>();
  const faults: string[] = [];
  const lines = csv.replace(/^\uFEFF/, '').split('\n');
  if (lines.length > MAX_LINES) return { faults: [`it has more than ${MAX_LINES} lines`] };
  for (const [index, text] of lines.entries()) {
    const line = text.trim();
    const isHeader = line === HEADER && rates.size === 0;
    if (line === '' || line.startsWith('#') || isHeader) continue;
    const row = parseLine(line);
    const earlier = 'key' in row ? lineOf.get(row.key) : undefined;
    const fault = earlier === undefined ? row.fault : `the prefix is already on line ${earlier}`;
    if (fault !== undefined) faults.push(`line ${index + 1}: ${fault}`);
    if (faults.length === MAX_FAULTS) break;
    if (!('key' in row)) continue;
    lineOf.set(row.key, index + 1);
    rates.set(row.key, row.rate);
  }
  if (faults.length === 0 && rates.size === 0) faults.push('it has no rates');
  return faults.length > 0 ? { faults } : { deck: deckOf(rates) };
}

/** @param rates by the digits of a prefix, or by `default` or `inbound` */
function deckOf(rates: Map<string, Micros>): RateDeck {
  const { otherwise, inbound } = DEFAULT_RATE_DECK;
  const prefixes = new Map(rates);
  prefixes.delete('default');
  prefixes.delete('inbound');
  let longest = 0;
  for (const { length } of prefixes.keys()) longest = Math.max(longest, length);
  return {
    prefixes,
    longest,
    otherwise: rates.get('default') ?? otherwise,
    inbound: rates.get('inbound') ?? inbound,
  };
}

type DeckRow = { key: string; rate: Micros; fault?: undefined } | { fault: string };

function parseLine(line: string): DeckRow {
  const [prefix = '', rate = '', ...more] = line.split(',').map((field) => field.trim());
  const key = prefix === 'default' || prefix === 'inbound' ? prefix : PREFIX.exec(prefix)?.[1];
  if (more.length > 0) return { fault: `it must have two fields, ${HEADER}` };
  if (key === undefined) return { fault: 'the prefix must be 1 to 15 digits such as 44 or +44, default or inbound' };
  if (!RATE.test(rate) || Number(rate) > MAX_MICROS_PER_SECOND) {
    return { fault: `the rate must be a whole number of micro-USD per second from 1 to ${MAX_MICROS_PER_SECOND}` };
  }
  return { key, rate: Number(rate) };
}
