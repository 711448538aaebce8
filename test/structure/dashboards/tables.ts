import { API } from './api.js';
import { MEDIA } from './media.js';
import { MONEY } from './money.js';
import { CODEC, EXPORTER, SIMULATOR } from './other-roles.js';
import { OVERVIEW } from './overview.js';
import { PROCESSES } from './processes.js';
import { WORKER } from './worker.js';
import type { Dashboard } from './types.js';

/** The dashboards of Grafana, as tables. `npm run structure` generates deploy/grafana/dashboards from them. */
export const DASHBOARDS: readonly Dashboard[] = [
  OVERVIEW,
  API,
  WORKER,
  MEDIA,
  EXPORTER,
  CODEC,
  SIMULATOR,
  PROCESSES,
  MONEY,
];
