import { z } from 'zod';
import { anyCarriers } from '../../kernel/carrier-identifiers.js';
import { MAX_CALL_SECONDS } from '../../kernel/hold-windows.js';
import { nameserverList, portList } from './customer-urls.js';
import { encryptionKeyList } from './encryption.js';
import { engineVariables } from './engines.js';
import { liveLimitVariables } from './live-limits.js';

const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
const port = z.coerce.number().int().min(0).max(65_535);
const url = z.url();
const seconds = z.coerce.number().int().positive();
/** Calls a carrier account takes per second. */
const callRate = z.union([z.literal('unlimited'), z.coerce.number().min(0.1).max(100)]);
const accountSid = z
  .string()
  .regex(new RegExp(anyCarriers('account')), 'must be AC and 32 digits 0 to 9 or a to f, in lower case');
const cidr = z.union([z.cidrv4(), z.cidrv6()]);

/** Every setting of every role, from the environment. README holds the same list with meanings. */
const environment = z.object({
  NODE_ENV: z.enum(['production', 'development', 'test']).default('development'),
  ALLOW_INSECURE_DEVELOPMENT: flag.default(false),
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
  ALLOW_STANDALONE_MONGODB: flag.default(false),
  TEMPORAL_ADDRESS: z.string().default('127.0.0.1:7233'),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_TASK_QUEUE: z.string().default('callwright'),
  TEMPORAL_TLS: flag.default(false),
  TEMPORAL_API_KEY: z.string().optional(),
  TEMPORAL_UI_URL: url.optional(),
  TEMPORAL_POSTGRES_PASSWORD: z.string().optional(),
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
  ENCRYPTION_KEYS: encryptionKeyList.optional(),
  CARRIER: z.enum(['simulator', 'twilio']).optional(),
  CARRIER_FROM_NUMBER: z
    .string()
    .regex(/^\+[1-9]\d{1,14}$/)
    .optional(),
  CARRIER_BASE_URL: url.optional(),
  CARRIER_CALLS_PER_SECOND: callRate.optional(),
  TWILIO_ACCOUNT_SID: accountSid.optional(),
  TWILIO_AUTH_TOKEN: z.string().min(1).optional(),
  SIMULATOR_URL: url.default('http://127.0.0.1:8082'),
  SIMULATOR_ACCOUNT_SID: accountSid.optional(),
  SIMULATOR_AUTH_TOKEN: z.string().optional(),
  SIMULATOR_TEST_ACCOUNT_SID: accountSid.optional(),
  SIMULATOR_TEST_AUTH_TOKEN: z.string().optional(),
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
      (text) => itemsOf(text).every((item) => cidr.safeParse(item).success),
      'must be CIDR ranges with commas between',
    )
    .default(''),
  WEBHOOK_PORTS: portList.optional(),
  WEBHOOK_NAMESERVERS: nameserverList.optional(),
  RECORDINGS: z.enum(['on', 'off']).default('on'),
  RECORDING_RETENTION_DAYS: z.coerce.number().int().min(0).max(36_500).default(0),
  PAYMENT_WEBHOOK_SECRET: z.string().min(16).optional(),
  SELF_SERVICE_NUMBERS: flag.optional(),
  SIGN_UP: z.enum(['off', 'invite', 'open']).optional(),
  SMTP_URL: z.string().refine(isSmtpUrl, 'must be like smtps://user:password@smtp.example.com').optional(),
  MAIL_FROM: z
    .string()
    .max(320)
    .regex(
      /^(?:[^<>@"\p{Cc}]{1,100}<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u,
      'must be an address like Callwright <no-reply@example.com>',
    )
    .optional(),
  ...liveLimitVariables,
  RATE_DECK_FILE: z.string().optional(),
  ...engineVariables,
  DEFAULT_VOICE: z.string().default('amber'),
  DEFAULT_LANGUAGE: z.string().default('en-US'),
  VOICEMAIL_DETECTION: z.enum(['on', 'off']).default('on'),
});

/** The pepper of development set-ups; production must bring its own. */
export const DEVELOPMENT_PEPPER = 'development-pepper-development-pepper';

/** The variables of the environment, parsed. */
export type Environment = z.output<typeof environment>;

function isSmtpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return ['smtp:', 'smtps:'].includes(protocol) && hostname !== '';
}

/** The items of a list with commas between. */
export function itemsOf(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);
}

/**
 * Parses every variable for itself, so that all faults are told together.
 * @returns values, with the default in place of a malformed one, and a sentence for each malformed variable
 */
export function parseEnvironment(given: Record<string, string | undefined>): {
  values: Environment;
  faults: { variable: string; sentence: string }[];
} {
  const faults: { variable: string; sentence: string }[] = [];
  const values = Object.entries(environment.shape).map(([variable, schema]) => {
    const parsed = schema.safeParse(given[variable]);
    if (parsed.success) return [variable, parsed.data];
    faults.push({
      variable,
      sentence: `${variable}: ${parsed.error.issues.map(({ message }) => message).join(', ')}.`,
    });
    return [variable, schema.safeParse(undefined).data];
  });
  return { values: Object.fromEntries(values) as Environment, faults };
}
