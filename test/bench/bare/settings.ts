/** The settings of the processes of the bare baseline, from their environment. */
export interface BareSettings {
  mongodbUri: string;
  temporalAddress: string;
  taskQueue: string;
  carrierUrl: string;
  inboxUrl: string;
  maxCachedWorkflows: number;
  /** Whether calls wait for hours for the signal; otherwise 40 s. */
  staysOpen?: boolean;
}

const VARIABLE = 'BENCH_BARE';

export function bareSettings(): BareSettings {
  return JSON.parse(process.env[VARIABLE] ?? '{}') as BareSettings;
}

export function bareEnvironment(settings: BareSettings): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return { PATH, HOME, [VARIABLE]: JSON.stringify(settings) };
}
