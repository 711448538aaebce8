import { z } from 'zod';
import { urlFrom } from '../../../kernel/text.js';
import { payloadKeyList } from './payload-keys.js';
import { taskQueueName } from './task-queues.js';

const flag = z.enum(['true', 'false']).transform((value) => value === 'true');

/** Environment variables of Temporal. */
export const temporalVariables = {
  TEMPORAL_ADDRESS: z
    .string()
    .default('127.0.0.1:7233')
    .meta({ description: 'address of the Temporal server', shown: 'embedded', compose: 'temporal:7233' }),
  TEMPORAL_NAMESPACE: z.string().default('default').meta({ description: 'Temporal namespace', compose: 'default' }),
  TEMPORAL_TASK_QUEUE: taskQueueName.default('callwright').meta({
    description:
      'Temporal task queue of live calls; that of test calls and other background work has the same name and `-background` ([task queues](operations/scale.md#task-queues))',
    compose: 'callwright',
  }),
  TEMPORAL_TLS: flag
    .default(false)
    .meta({ description: 'whether to connect to Temporal with TLS, as Temporal Cloud requires', compose: 'false' }),
  // Certificates are no secrets, but they come in files, too.
  TEMPORAL_TLS_CERT: z.string().optional().meta({
    description:
      'certificate in PEM with which the service [identifies itself](operations/install.md#tls-to-temporal) to Temporal (mTLS), followed by intermediate ones; usually `TEMPORAL_TLS_CERT_FILE` with its path',
    secret: 'given',
  }),
  TEMPORAL_TLS_KEY: z.string().optional().meta({
    description: 'private key of that certificate in PEM, without a password; usually `TEMPORAL_TLS_KEY_FILE`',
    secret: 'given',
  }),
  TEMPORAL_TLS_CA: z.string().optional().meta({
    description:
      'certificates in PEM of the authorities that may issue Temporal’s certificate, instead of those of the system; usually `TEMPORAL_TLS_CA_FILE`',
    secret: 'given',
  }),
  TEMPORAL_TLS_SERVER_NAME: z
    .string()
    .regex(/^[A-Za-z0-9.-]{1,253}$/, 'must be a host name, like temporal.example.com')
    .optional()
    .meta({
      description: 'name in Temporal’s certificate, if it differs from the host in `TEMPORAL_ADDRESS`',
    }),
  TEMPORAL_API_KEY: z.string().optional().meta({
    description: 'API key of Temporal Cloud; production sends it over TLS only',
    secret: 'given',
  }),
  TEMPORAL_PAYLOAD_KEYS: payloadKeyList.optional().meta({
    description:
      'keys with which the service [encrypts what Temporal stores](operations/secrets.md#encryption-of-temporals-data), in the format of `ENCRYPTION_KEYS`; the same for every role. The first encrypts, all decrypt; with `plain,` in front they only decrypt',
    shown: 'none: not encrypted',
    secret: 'keys',
    production: '',
  }),
  CODEC_HOST: z
    .string()
    .default('127.0.0.1')
    .meta({ description: 'address on which the codec server listens; keep it private', fixed: '0.0.0.0' }),
  CODEC_PORT: z.coerce.number().int().min(0).max(65_535).default(8085).meta({
    description: 'port on which the [codec server](operations/secrets.md#read-encrypted-data) listens',
    fixed: 8085,
  }),
  CODEC_TOKEN: z
    .string()
    .min(32)
    .optional()
    .meta({
      description:
        'token with which operators read encrypted data of Temporal through the codec server; create one with `openssl rand -hex 32`',
      secret: { least: 32, remedy: 'create one with openssl rand -hex 32' },
    }),
  CODEC_ORIGINS: z
    .string()
    .refine(
      (text) => text.split(',').every((item) => urlFrom(item.trim())?.origin === item.trim()),
      'must be a comma-separated list of origins, like https://temporal.example.com',
    )
    .optional()
    .meta({
      description: 'origins of the Temporal UI, whose pages may use the codec server',
      shown: 'that of `TEMPORAL_UI_URL`',
    }),
  TEMPORAL_UI_URL: z
    .url()
    .optional()
    .describe(
      'address of the Temporal UI; in the portal, only [portal operators](operating-accounts.md#portal-operators) see links to the workflow of a call',
    ),
  TEMPORAL_POSTGRES_PASSWORD: z
    .string()
    .optional()
    .meta({
      description:
        'password of PostgreSQL in the compose file; create one with `openssl rand -hex 16` before the first start. Production rejects `change-me`',
      shown: '`change-me` in the compose file',
      secret: { least: 16, remedy: 'create one with openssl rand -hex 16' },
      compose: 'change-me',
      trial: 'change-me',
      production: '',
    }),
};

export type TemporalValues = z.output<z.ZodObject<typeof temporalVariables>>;
