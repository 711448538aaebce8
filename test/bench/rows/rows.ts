import { databaseCommands } from './database-commands.js';
import { get } from './get.js';
import { media } from './media.js';
import { memory } from './memory.js';
import { history } from './history.js';
import { metrics, traces } from './observed.js';
import type { Row } from './row.js';
import { start } from './start.js';
import { webhooks } from './webhooks.js';
import { wholeCalls } from './calls.js';

/** All rows in the order in which they run and are printed. */
export const ROWS: readonly Row[] = [
  wholeCalls,
  start,
  databaseCommands,
  get,
  media,
  history,
  webhooks,
  memory,
  metrics,
  traces,
];
