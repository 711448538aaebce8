import { urlFrom } from '../../kernel/text.js';
import { z } from 'zod';
import { MAX_CALL_SECONDS } from '../../kernel/hold-windows.js';
import { accountVariables } from './account-variables.js';
import { carrierVariables } from './carriers/carriers.js';
import { nameserverList, portList } from './customer-urls.js';
import { encryptionKeyList } from './encryption.js';
import { engineVariables } from './engines/engine-variables.js';
import { liveLimitVariables } from './live-limits.js';
import { recordingVariables } from './recording-variables.js';
import { retentionVariables } from './retention-variables.js';
import { temporalVariables } from './temporal/variables.js';
import { workerVariables } from './temporal/worker-variables.js';
import { traceVariables } from './trace-variables.js';

const HOLD_WINDOWS = /^[1-9]\d{0,4}(?:,[1-9]\d{0,4}){0,19}$/;
const FORMER_PEPPERS = /^[^,\s]{32,}(?:,[^,\s]{32,})*$/;

const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
const port = z.coerce.number().int().min(0).max(65_535);
const url = z.url();
const seconds = z.coerce.number().int().positive();
/** More calls need more than one core. */
const MAX_MEDIA_CALLS = 4_000;
const cidr = z.union([z.cidrv4(), z.cidrv6()]);

/**
 * Every environment variable of every role. `npm run structure` generates docs/configuration.md, .env.example and the
 * environment in docker-compose.yml from this object. Each variable has a `description`, and may have:
 * - `shown`: the default as the documentation shows it;
 * - `compose`: the default in docker-compose.yml, or `fixed`: the only value there;
 * - `trial` and `production`: the value in those parts of .env.example;
 * - `secret`: the kind of secret that it contains, see `secret-variables.ts`.
 */
export const environment = z.object({
  NODE_ENV: z.enum(['production', 'development', 'test']).default('development').meta({
    description:
      '`production` requires TLS, secrets that cannot be guessed and a named carrier, and rejects webhooks to private addresses',
    compose: 'development',
    trial: 'development',
    production: 'production',
  }),
  ALLOW_INSECURE_DEVELOPMENT: flag
    .default(false)
    .describe(
      'lets development run with `CARRIER=twilio`, `PAYMENT_WEBHOOK_SECRET` or a public `https` `PUBLIC_BASE_URL`, such as that of a tunnel. Sign-up, private addresses and published secrets stay open. With an `API_HOST` that is not loopback, requests with any Host header are answered',
    ),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .meta({ description: '`trace`, `debug`, `info`, `warn`, `error` or `silent`', compose: 'info' }),
  PUBLIC_BASE_URL: url.default('http://127.0.0.1:8080').meta({
    description: 'address of the API as clients and the carrier see it; the carrier’s signatures are computed over it',
    compose: 'http://api:8080',
    trial: 'http://api:8080',
    production: 'https://calls.example.com',
  }),
  STREAM_URL: url.default('ws://127.0.0.1:8081/stream').meta({
    description: 'address of the media server as the carrier sees it',
    compose: 'ws://media:8081/stream',
    trial: 'ws://media:8081/stream',
    production: 'wss://calls.example.com/stream',
  }),
  API_HOST: z.string().default('127.0.0.1').meta({ description: 'address on which the API listens', fixed: '0.0.0.0' }),
  API_PORT: port.default(8080).meta({ description: 'port on which the API listens', fixed: 8080 }),
  MEDIA_HOST: z
    .string()
    .default('127.0.0.1')
    .meta({ description: 'address on which a media server listens', fixed: '0.0.0.0' }),
  MEDIA_PORT: port.default(8081).meta({ description: 'port on which a media server listens', fixed: 8081 }),
  SIMULATOR_HOST: z
    .string()
    .default('127.0.0.1')
    .meta({ description: 'address on which the simulated carrier listens', fixed: '0.0.0.0' }),
  SIMULATOR_PORT: port.default(8082).meta({ description: 'port on which the simulated carrier listens', fixed: 8082 }),
  WORKER_HOST: z
    .string()
    .default('127.0.0.1')
    .meta({ description: 'address on which a worker answers health checks', fixed: '0.0.0.0' }),
  WORKER_PORT: port.optional().meta({
    description:
      'port on which a worker answers [health checks](operations/monitor.md); empty: it answers none. The image uses 8084',
    fixed: 8084,
  }),
  METRICS_HOST: z
    .string()
    .default('127.0.0.1')
    .meta({ description: 'address on which a role serves its metrics; keep it private', fixed: '0.0.0.0' }),
  METRICS_PORT: port.optional().meta({
    description:
      'port on which a role serves [metrics](operations/monitor.md#metrics) for Prometheus; empty: it serves none. Roles on the same address need different ports',
    // Prometheus asks for it in deploy/prometheus/prometheus.yml.
    fixed: 9465,
  }),
  ...traceVariables,
  DRAIN_DELAY_SECONDS: z.coerce.number().int().min(0).max(60).optional().meta({
    description:
      'how long an API or media process [still serves](operations/upgrade.md#stop-and-deploy) after SIGTERM while `/health/ready` is 503, so that load balancers send new requests elsewhere; longer than the interval of their checks',
    shown: '5 in production, otherwise 0',
  }),
  MEDIA_DRAIN_SECONDS: z.coerce.number().int().min(8).max(MAX_CALL_SECONDS).default(8).meta({
    description:
      'how long a media process waits after SIGTERM for calls to end, before it moves the rest to other processes, `DRAIN_DELAY_SECONDS` included; give the orchestrator 10 s more',
  }),
  MEDIA_MAX_CALLS: z.coerce.number().int().min(1).max(MAX_MEDIA_CALLS).default(MAX_MEDIA_CALLS).meta({
    description: 'calls that a media process carries; then `/health/ready` is 503 and further streams are rejected',
  }),
  TRUST_PROXY: flag.default(false).meta({
    description:
      'whether to trust `X-Forwarded-Proto` and the last address in `X-Forwarded-For`, which [the proxy in front](operations/install.md#client-addresses-behind-a-proxy) sets',
    compose: 'false',
    production: 'true',
  }),
  MONGODB_URI: z.string().default('mongodb://127.0.0.1:27017/callwright').meta({
    description: 'connection string of MongoDB; name its `replicaSet`, so that the service follows a failover',
    shown: 'embedded',
    compose: 'mongodb://mongodb:27017/callwright?replicaSet=rs0',
    secret: 'password',
  }),
  ALLOW_PLAIN_MONGODB: flag.default(false).meta({
    description: 'lets production send the password in `MONGODB_URI` over a public network without `tls=true`',
  }),
  ALLOW_STANDALONE_MONGODB: flag
    .default(false)
    .describe('lets production run on a MongoDB that is not a replica set and may lose acknowledged writes'),
  ...temporalVariables,
  ...workerVariables,
  RECONCILE_HOLDS_AFTER_SECONDS: seconds
    .default(MAX_CALL_SECONDS + 900)
    .describe('age at which a hold that was not settled is checked; the default is the longest call and 15 minutes'),
  RECONCILE_GRACE_SECONDS: z.coerce
    .number()
    .int()
    .min(0)
    .default(120)
    .describe('age below which records are not compared yet'),
  API_KEY_PEPPER: z
    .string()
    .min(32)
    .optional()
    .meta({
      description:
        'secret with which API keys are hashed; create one with `openssl rand -hex 32`. Keys stop working if it changes without [these steps](operations/secrets.md#the-pepper)',
      shown: 'development only',
      secret: { least: 32, remedy: 'create one with openssl rand -hex 32' },
      production: '',
    }),
  API_KEY_FORMER_PEPPERS: z
    .string()
    .regex(FORMER_PEPPERS, 'must be one secret of at least 32 characters, or several separated by commas')
    .optional()
    .meta({
      description:
        'other values of `API_KEY_PEPPER` that are accepted, separated by commas, while [it changes](operations/secrets.md#the-pepper)',
      secret: { least: 32, remedy: 'set the values that API_KEY_PEPPER had or will have', isList: true },
    }),
  ENCRYPTION_KEYS: encryptionKeyList.optional().meta({
    description:
      'keys with which stored secrets are encrypted, `<key id>:<32 bytes in base64>` separated by commas, newest first. The first encrypts, all decrypt ([how to rotate](operations/secrets.md#encryption-keys)). Create one with `echo "$(date +%F):$(openssl rand -base64 32)"`',
    shown: 'development only',
    secret: 'keys',
    production: '',
  }),
  ...carrierVariables,
  ANSWER_WITHIN_MS: z.coerce
    .number()
    .int()
    .positive()
    .max(60_000)
    .default(1_200)
    .describe('time in which a new call must be reserved; otherwise it is given up and nothing is dialed'),
  RING_SECONDS: seconds.max(120).default(30).describe('how long a phone rings if the agent has no ring timeout'),
  HOLD_WINDOWS: z
    .string()
    .regex(HOLD_WINDOWS, 'must be 1 to 20 numbers of seconds from 1 to 99999, separated by commas')
    .transform((text) => text.split(',').map(Number))
    .optional()
    .meta({ description: 'seconds of talk that each hold of a call pays for', shown: '`60,180,720,2880,10560`' }),
  WEBHOOK_ALLOW_CIDRS: z
    .string()
    .refine(
      (text) => itemsOf(text).every((item) => cidr.safeParse(item).success),
      'must be a comma-separated list of CIDR ranges, like 10.1.2.0/24',
    )
    .default('')
    .describe(
      'private networks that webhooks and agents’ tools may reach in production, such as `10.1.2.0/24`. Loopback, link-local and public ranges are not accepted',
    ),
  WEBHOOK_PORTS: portList.optional().meta({
    description:
      'ports that the URLs of webhooks and tools may use, such as `443,8443,9000-9999`. Ports of other protocols are always rejected',
    shown: 'all except those of other protocols',
  }),
  WEBHOOK_NAMESERVERS: nameserverList.optional().meta({
    description: 'name servers that resolve the URLs of webhooks and tools, such as `10.0.0.2,10.0.0.3:5353`',
    shown: 'the system’s',
  }),
  WEB_CALL_ORIGINS: z
    .string()
    .refine(
      (text) => itemsOf(text).every((item) => urlFrom(item)?.origin === item),
      'must be a comma-separated list of origins, like https://app.example.com',
    )
    .default('')
    .describe(
      'origins of other sites whose pages may connect to [calls in the browser](web-calls.md), such as `https://app.example.com`. The portal of this service always may',
    ),
  ...recordingVariables,
  ...retentionVariables,
  ...accountVariables,
  ...liveLimitVariables,
  RATE_DECK_FILE: z.string().optional().meta({
    description:
      'CSV file with [prices by destination](operating-money.md#prices), read by every role when it starts; the compose file mounts `deploy/rates` there',
    shown: 'none: 0.15 USD a minute',
    production: '/etc/callwright/rates/rates.csv',
  }),
  ...engineVariables,
  DEFAULT_VOICE: z
    .string()
    .default('amber')
    .describe('voice of temporary agents, and of new agents without one; one that `ENGINE` has'),
  DEFAULT_LANGUAGE: z
    .string()
    .default('en-US')
    .describe('language of temporary agents, and of new agents without one; one that the voice speaks'),
  VOICEMAIL_DETECTION: z
    .enum(['on', 'off'])
    .default('on')
    .describe(
      'whether the carrier detects [voicemail](agents.md#voicemail), unless the agent continues in any case; Twilio charges for it per call',
    ),
});

/** Pepper for development. Production must set its own. */
export const DEVELOPMENT_PEPPER = 'development-pepper-development-pepper';

/** The parsed environment variables. */
export type Environment = z.output<typeof environment>;

/** Splits a comma-separated list, trims its items and drops empty ones. */
export function itemsOf(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);
}

/**
 * Parses each variable separately, so that all errors are reported together.
 * @returns the values, with the default in place of an invalid one, and a sentence for each invalid variable
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
