import { z } from 'zod';

const url = z.url();
/** Calls a carrier account takes per second. */
const callRate = z.union([z.literal('unlimited'), z.coerce.number().min(0.1).max(100)]);
const carrierAccountId = z
  .string()
  .regex(/^AC[0-9a-f]{32}$/, 'must be AC and 32 digits 0 to 9 or a to f, in lower case');

/** The settings of the carriers, the simulated one included, from the environment. */
export const carrierVariables = {
  CARRIER: z.enum(['simulator', 'twilio']).optional().meta({
    description: 'carrier of live keys: `twilio` or `simulator`; must be named in production',
    shown: '`simulator`',
    production: 'twilio',
  }),
  CARRIER_FROM_NUMBER: z
    .string()
    .regex(/^\+[1-9]\d{1,14}$/)
    .optional()
    .meta({ description: 'number to call from when neither agent nor account has one', production: '' }),
  CARRIER_BASE_URL: url.optional().meta({ description: 'REST address of the carrier', shown: 'Twilio’s' }),
  CARRIER_CALLS_PER_SECOND: callRate.optional().meta({
    description:
      'dials per second that the carrier account of live keys takes, shared fairly by all accounts; calls beyond it wait, up to 60 s',
    shown: 'Twilio: `1`, simulator: `unlimited`',
    production: '1',
  }),
  TWILIO_ACCOUNT_SID: carrierAccountId.optional().meta({ description: 'needed by `CARRIER=twilio`', production: '' }),
  TWILIO_AUTH_TOKEN: z.string().min(1).optional().meta({ description: 'needed by `CARRIER=twilio`', production: '' }),
  SIMULATOR_URL: url
    .default('http://127.0.0.1:8082')
    .meta({ description: 'where the simulated carrier is reached', compose: 'http://simulator:8082' }),
  SIMULATOR_ACCOUNT_SID: carrierAccountId.optional().meta({
    description: 'account of live keys on the simulated carrier',
    shown: 'well-known; in production one made per deployment',
  }),
  SIMULATOR_AUTH_TOKEN: z.string().optional().meta({
    description: 'its secret; production refuses the well-known one and what is easy to guess (`openssl rand -hex 16`)',
    shown: 'well-known; in production one made per deployment',
    production: '',
  }),
  SIMULATOR_TEST_ACCOUNT_SID: carrierAccountId.optional().meta({
    description: 'account of test keys on the simulated carrier',
    shown: 'well-known; in production one made per deployment',
  }),
  SIMULATOR_TEST_AUTH_TOKEN: z.string().optional().meta({
    description: 'its secret, as `SIMULATOR_AUTH_TOKEN`',
    shown: 'well-known; in production one made per deployment',
    production: '',
  }),
  SIMULATOR_TEST_CALLS_PER_SECOND: callRate
    .optional()
    .meta({ description: 'as `CARRIER_CALLS_PER_SECOND`, for test keys', shown: '`unlimited`' }),
  SIMULATOR_TIME_SCALE: z.coerce.number().positive().default(1).describe('speeds up scripted waits, not audio'),
};
