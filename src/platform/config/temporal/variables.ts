import { z } from 'zod';

const flag = z.enum(['true', 'false']).transform((value) => value === 'true');

/** Environment variables of Temporal. */
export const temporalVariables = {
  TEMPORAL_ADDRESS: z
    .string()
    .default('127.0.0.1:7233')
    .meta({ description: 'address of the Temporal server', shown: 'embedded', compose: 'temporal:7233' }),
  TEMPORAL_NAMESPACE: z.string().default('default').meta({ description: 'Temporal namespace', compose: 'default' }),
  TEMPORAL_TASK_QUEUE: z
    .string()
    .default('callwright')
    .meta({ description: 'Temporal task queue of calls', compose: 'callwright' }),
  TEMPORAL_TLS: flag
    .default(false)
    .meta({ description: 'whether to connect to Temporal with TLS, as Temporal Cloud requires', compose: 'false' }),
  // Certificates are no secrets, but they come in files, too.
  TEMPORAL_TLS_CERT: z.string().optional().meta({
    description:
      'certificate in PEM with which the service [identifies itself](operations.md#tls-to-temporal) to Temporal (mTLS), followed by intermediate ones; usually `TEMPORAL_TLS_CERT_FILE` with its path',
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
