import type { Figure } from '../report/figure.js';
import type { BenchServers } from '../stack/servers.js';

/** The parts that a row needs to run. */
export interface RowContext {
  servers: BenchServers;
  rounds: number;
  /** Prints progress. */
  say: (line: string) => void;
}

/** One row of the benchmark: it starts what it needs, measures, and ends what it has started. */
export interface Row {
  name: string;
  about: string;
  /** The time limit; 15 minutes by default. */
  withinMs?: number;
  run(context: RowContext): Promise<RowResult>;
}

export interface RowResult {
  figures: Figure[];
  /** Lines to print below the table, such as the commands of each operation. */
  notes?: string[];
  /** Everything else that belongs in the JSON file. */
  details?: Record<string, unknown>;
}
