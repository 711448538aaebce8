import { z } from 'zod';
import { engineSettings, engineVariables, refuseUnfitEngine } from './config/engines.js';
import { MAX_CALL_SECONDS } from './domain/hold-windows.js';

export { configuredEngineNames, configuredVoices, offeredEngineNames } from './config/engines.js';
export type { OpenAiRealtimeSettings, PipelineSettings } from './config/engines.js';

const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
const port = z.coerce.number().int().min(0).max(65_535);
const url = z.url();
const seconds = z.coerce.number().int().positive();
/** Calls a carrier account takes per second. */
const callRate = z.union([z.literal('unlimited'), z.coerce.number().min(0.1).max(100)]);
const cidr = z.union([z.cidrv4(), z.cidrv6()]);

/** Every setting of every role, from the environment. README holds the same list with meanings. */
const environment = z.object({
  NODE_ENV: z.enum(['production', 'development', 'test']).default('development'),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  PUBLIC_BASE_URL: url.default('http://127.0.0.1:8080'),
  STREAM_URL: url.default('ws://127.0.0.1:8081/stream'),
  API_HOST: z.string().default('127.0.0.1'),
  API_PORT: port.default(8080),
  MEDIA_HOST: z.string().default('127.0.0.1'),
  MEDIA_PORT: port.default(8081),
  SIMULATOR_HOST: z.string().default('127.0.0.1'),
  SIMULATOR_PORT: port.default(8082),
  TRUST_PROXY: flag.default(false),
  MONGODB_URI: z.string().default('mongodb://127.0.0.1:27017/callwright'),
  TEMPORAL_ADDRESS: z.string().default('127.0.0.1:7233'),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_TASK_QUEUE: z.string().default('callwright'),
  TEMPORAL_TLS: flag.default(false),
  TEMPORAL_API_KEY: z.string().optional(),
  TEMPORAL_UI_URL: url.optional(),
  WORKER_BUILD_ID: z.string().optional(),
  WORKER_DEPLOYMENT_NAME: z.string().default('callwright'),
  WORKER_MAX_CACHED_CALLS: z.coerce.number().int().positive().default(2_000),
  WORKER_METRICS_ADDRESS: z
    .string()
    .regex(/^[^:\s]+:\d{1,5}$/, 'must be an address like 127.0.0.1:9464')
    .optional(),
  RECONCILE_HOLDS_AFTER_SECONDS: seconds.default(MAX_CALL_SECONDS + 900),
  RECONCILE_GRACE_SECONDS: z.coerce.number().int().min(0).default(120),
  API_KEY_PEPPER: z.string().min(32).optional(),
  CARRIER: z.enum(['simulator', 'twilio']).optional(),
  CARRIER_FROM_NUMBER: z
    .string()
    .regex(/^\+[1-9]\d{1,14}$/)
    .optional(),
  CARRIER_BASE_URL: url.optional(),
  CARRIER_CALLS_PER_SECOND: callRate.optional(),
  TWILIO_ACCOUNT_SID: z
    .string()
    .regex(/^AC[0-9a-f]{32}$/)
    .optional(),
  TWILIO_AUTH_TOKEN: z.string().min(1).optional(),
  SIMULATOR_URL: url.default('http://127.0.0.1:8082'),
  SIMULATOR_ACCOUNT_SID: z.string().default('AC00000000000000000000000000000001'),
  SIMULATOR_AUTH_TOKEN: z.string().default('11111111111111111111111111111111'),
  SIMULATOR_TEST_ACCOUNT_SID: z.string().default('AC00000000000000000000000000000002'),
  SIMULATOR_TEST_AUTH_TOKEN: z.string().default('22222222222222222222222222222222'),
  SIMULATOR_TEST_CALLS_PER_SECOND: callRate.optional(),
  SIMULATOR_TIME_SCALE: z.coerce.number().positive().default(1),
  ANSWER_WITHIN_MS: z.coerce.number().int().positive().default(1_200),
  RING_SECONDS: seconds.max(120).default(30),
  HOLD_WINDOWS: z
    .string()
    .regex(/^\d+(,\d+)*$/)
    .transform((text) => text.split(',').map(Number))
    .optional(),
  WEBHOOK_ALLOW_CIDRS: z
    .string()
    .refine(
      (text) => list(text).every((item) => cidr.safeParse(item).success),
      'must be CIDR ranges with commas between',
    )
    .default(''),
  RECORDINGS: z.enum(['on', 'off']).default('on'),
  RECORDING_RETENTION_DAYS: z.coerce.number().int().min(0).max(36_500).default(0),
  PAYMENT_WEBHOOK_SECRET: z.string().min(16).optional(),
  SELF_SERVICE_NUMBERS: flag.optional(),
  ALLOWED_COUNTRY_PREFIXES: z.string().default(''),
  ...engineVariables,
  DEFAULT_VOICE: z.string().default('amber'),
  DEFAULT_LANGUAGE: z.string().default('en-US'),
  VOICEMAIL_DETECTION: z.enum(['on', 'off']).default('on'),
});

/** The pepper of development set-ups; production must bring its own. */
const DEVELOPMENT_PEPPER = 'development-pepper-development-pepper';

/** The credentials by which one mode's carrier account signs its requests and takes ours. */
export interface CarrierAccount {
  kind: 'simulator' | 'twilio';
  accountSid: string;
  authToken: string;
  /** Base of the REST interface. */
  baseUrl: string;
  fromNumber: string;
  /** Dials per second that it takes; absent: any number. */
  callsPerSecond?: number;
}

/** What Twilio gives a new account. */
const TWILIO_CALLS_PER_SECOND = 1;

/** The number that test mode calls from; a carrier's test credentials accept it. */
export const TEST_FROM_NUMBER = '+15005550006';

export type Config = ReturnType<typeof settingsOf>;

/**
 * Parses the environment once, at start-up.
 * @throws Error that names every variable at fault in one sentence each
 */
export function parseConfig(env: NodeJS.ProcessEnv): Config {
  const config = settingsOf(env);
  refuseUnfitEngine(config);
  return config;
}

function settingsOf(env: NodeJS.ProcessEnv) {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = environment.safeParse(given);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`The configuration is not usable. ${faults.join('; ')}`);
  }
  const values = parsed.data;
  const production = values.NODE_ENV === 'production';
  if (production && values.API_KEY_PEPPER === undefined) {
    throw new Error('API_KEY_PEPPER must be set in production (32 characters or more, kept secret).');
  }
  return {
    production,
    logLevel: values.LOG_LEVEL,
    publicBaseUrl: values.PUBLIC_BASE_URL.replace(/\/+$/, ''),
    streamUrl: values.STREAM_URL.replace(/\/+$/, ''),
    api: { host: values.API_HOST, port: values.API_PORT, trustProxy: values.TRUST_PROXY },
    media: { host: values.MEDIA_HOST, port: values.MEDIA_PORT },
    simulator: { host: values.SIMULATOR_HOST, port: values.SIMULATOR_PORT, timeScale: values.SIMULATOR_TIME_SCALE },
    mongodbUri: values.MONGODB_URI,
    temporal: {
      address: values.TEMPORAL_ADDRESS,
      namespace: values.TEMPORAL_NAMESPACE,
      taskQueue: values.TEMPORAL_TASK_QUEUE,
      tls: values.TEMPORAL_TLS,
      apiKey: values.TEMPORAL_API_KEY,
      uiUrl: values.TEMPORAL_UI_URL?.replace(/\/+$/, ''),
    },
    worker: {
      buildId: values.WORKER_BUILD_ID,
      deploymentName: values.WORKER_DEPLOYMENT_NAME,
      maxCachedCalls: values.WORKER_MAX_CACHED_CALLS,
      metricsAddress: values.WORKER_METRICS_ADDRESS,
    },
    reconciliation: {
      holdLimitSeconds: values.RECONCILE_HOLDS_AFTER_SECONDS,
      graceSeconds: values.RECONCILE_GRACE_SECONDS,
    },
    recordings: { enabled: values.RECORDINGS === 'on', retentionDays: values.RECORDING_RETENTION_DAYS },
    apiKeyPepper: values.API_KEY_PEPPER ?? DEVELOPMENT_PEPPER,
    carriers: { live: liveCarrier(values, production), test: testCarrier(values) },
    calls: {
      answerWithinMs: values.ANSWER_WITHIN_MS,
      ringSeconds: values.RING_SECONDS,
      holdWindows: values.HOLD_WINDOWS,
      defaultVoice: values.DEFAULT_VOICE,
      defaultLanguage: values.DEFAULT_LANGUAGE,
      allowedCountryPrefixes: list(values.ALLOWED_COUNTRY_PREFIXES),
    },
    engines: engineSettings(values),
    webhooks: { allowCidrs: list(values.WEBHOOK_ALLOW_CIDRS), guarded: production },
    /** Whether accounts may take phone numbers themselves. */
    selfServiceNumbers: values.SELF_SERVICE_NUMBERS ?? !production,
    payments: { webhookSecret: values.PAYMENT_WEBHOOK_SECRET },
    voicemailDetection: values.VOICEMAIL_DETECTION === 'on',
  };
}

type Environment = z.output<typeof environment>;

function liveCarrier(values: Environment, production: boolean): CarrierAccount {
  if (production && values.CARRIER === undefined) {
    throw new Error('CARRIER must be named in production: twilio, or simulator if no real call shall ever be placed.');
  }
  if (values.CARRIER !== 'twilio') {
    return {
      kind: 'simulator',
      accountSid: values.SIMULATOR_ACCOUNT_SID,
      authToken: values.SIMULATOR_AUTH_TOKEN,
      baseUrl: values.SIMULATOR_URL,
      fromNumber: values.CARRIER_FROM_NUMBER ?? '+12025550199',
      ...pace(values.CARRIER_CALLS_PER_SECOND),
    };
  }
  const { TWILIO_ACCOUNT_SID: accountSid, TWILIO_AUTH_TOKEN: authToken, CARRIER_FROM_NUMBER: fromNumber } = values;
  if (accountSid === undefined || authToken === undefined) {
    throw new Error('CARRIER=twilio needs TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN.');
  }
  if (fromNumber === undefined) throw new Error('CARRIER=twilio needs CARRIER_FROM_NUMBER, a number of that account.');
  return {
    kind: 'twilio',
    accountSid,
    authToken,
    baseUrl: values.CARRIER_BASE_URL ?? 'https://api.twilio.com',
    fromNumber,
    ...pace(values.CARRIER_CALLS_PER_SECOND ?? TWILIO_CALLS_PER_SECOND),
  };
}

function testCarrier(values: Environment): CarrierAccount {
  return {
    kind: 'simulator',
    accountSid: values.SIMULATOR_TEST_ACCOUNT_SID,
    authToken: values.SIMULATOR_TEST_AUTH_TOKEN,
    baseUrl: values.SIMULATOR_URL,
    fromNumber: TEST_FROM_NUMBER,
    ...pace(values.SIMULATOR_TEST_CALLS_PER_SECOND),
  };
}

function pace(rate: Environment['CARRIER_CALLS_PER_SECOND']): Pick<CarrierAccount, 'callsPerSecond'> {
  return rate === undefined || rate === 'unlimited' ? {} : { callsPerSecond: rate };
}

function list(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);
}
