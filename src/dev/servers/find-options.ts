import type { Report } from '../processes/run-command.js';

export interface FindOptions {
  env: NodeJS.ProcessEnv;
  report: Report;
  signal?: AbortSignal | undefined;
}
