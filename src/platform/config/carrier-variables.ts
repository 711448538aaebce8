import { z } from 'zod';

const url = z.url();
/** Number of calls per second that a carrier account may place. */
const callRate = z.union([z.literal('unlimited'), z.coerce.number().min(0.1).max(100)]);
const carrierAccountId = z
  .string()
  .regex(/^AC[0-9a-f]{32}$/, 'must be AC and 32 digits 0 to 9 or a to f, in lower case');

/** Environment variables of the carriers, including the simulated one. */
export const carrierVariables = {
  CARRIER: z.enum(['simulator', 'twilio']).optional().meta({
    description: 'carrier of live keys: `twilio` or `simulator`; required in production',
    shown: '`simulator`',
    production: 'twilio',
  }),
  CARRIER_FROM_NUMBER: z
    .string()
    .regex(/^\+[1-9]\d{1,14}$/)
    .optional()
    .meta({ description: 'number to call from if neither the agent nor the account has one', production: '' }),
  CARRIER_BASE_URL: url.optional().meta({ description: 'base URL of the carrier’s REST interface', shown: 'Twilio’s' }),
  CARRIER_CALLS_PER_SECOND: callRate.optional().meta({
    description:
      'calls per second that the carrier account of live keys may place. Accounts share them fairly, an account that rarely places calls goes first, and further calls wait up to 60 s',
    shown: 'Twilio: `1`, simulator: `unlimited`',
    production: '1',
  }),
  TWILIO_ACCOUNT_SID: carrierAccountId.optional().meta({ description: 'required by `CARRIER=twilio`', production: '' }),
  TWILIO_AUTH_TOKEN: z.string().min(1).optional().meta({
    description: 'required by `CARRIER=twilio`, also with an API key: Twilio signs its requests with the token',
    production: '',
  }),
  TWILIO_API_KEY_SID: z
    .string()
    .regex(/^SK[0-9a-f]{32}$/, 'must be SK and 32 digits 0 to 9 or a to f, in lower case')
    .optional()
    .meta({
      description:
        'API key of the account, with which requests to Twilio are authenticated instead of the auth token. Needs `TWILIO_API_KEY_SECRET`',
    }),
  TWILIO_API_KEY_SECRET: z.string().min(1).optional().meta({ description: 'secret of `TWILIO_API_KEY_SID`' }),
  SIMULATOR_URL: url.default('http://127.0.0.1:8082').meta({
    description: 'address at which the other roles reach the simulated carrier',
    compose: 'http://simulator:8082',
  }),
  SIMULATOR_ACCOUNT_SID: carrierAccountId.optional().meta({
    description: 'account of live keys at the simulated carrier',
    shown: 'well-known; in production one made per deployment',
  }),
  SIMULATOR_AUTH_TOKEN: z.string().optional().meta({
    description:
      'auth token of `SIMULATOR_ACCOUNT_SID`; create one with `openssl rand -hex 16`. Production rejects the published one and what is easy to guess',
    shown: 'well-known; in production one made per deployment',
    production: '',
  }),
  SIMULATOR_TEST_ACCOUNT_SID: carrierAccountId.optional().meta({
    description: 'account of test keys at the simulated carrier',
    shown: 'well-known; in production one made per deployment',
  }),
  SIMULATOR_TEST_AUTH_TOKEN: z.string().optional().meta({
    description: 'auth token of `SIMULATOR_TEST_ACCOUNT_SID`; same rules as `SIMULATOR_AUTH_TOKEN`',
    shown: 'well-known; in production one made per deployment',
    production: '',
  }),
  SIMULATOR_TEST_CALLS_PER_SECOND: callRate
    .optional()
    .meta({ description: 'like `CARRIER_CALLS_PER_SECOND`, for test keys', shown: '`unlimited`' }),
  SIMULATOR_TIME_SCALE: z.coerce
    .number()
    .positive()
    .default(1)
    .describe('speeds up the waits of scripted callees, not the audio'),
};
