import { z } from 'zod';
import {
  callRate,
  carrierAccountId,
  pace,
  TEST_ACCOUNT,
  type CarrierAccount,
  type CarrierSettings,
  type LiveCarrierVariables,
} from './account.js';
import { weaknessOf } from '../secret-strength.js';
import {
  accountIdFault,
  isPublished,
  simulatedAccount,
  tokenFault,
  type SimulatedAccountVariables,
} from './simulated-accounts.js';

/** How the operator creates a token. */
const TOKEN = {
  least: 32,
  remedy: 'leave it empty to have one generated, or set the output of openssl rand -hex 16',
};

/** Caller ID of test calls; carriers accept it with test credentials. */
export const TEST_FROM_NUMBER = '+15005550006';

export const simulatorVariables = {
  SIMULATOR_URL: z.url().default('http://127.0.0.1:8082').meta({
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
    secret: TOKEN,
  }),
  SIMULATOR_TEST_ACCOUNT_SID: carrierAccountId.optional().meta({
    description: 'account of test keys at the simulated carrier',
    shown: 'well-known; in production one made per deployment',
  }),
  SIMULATOR_TEST_AUTH_TOKEN: z.string().optional().meta({
    description: 'auth token of `SIMULATOR_TEST_ACCOUNT_SID`; same rules as `SIMULATOR_AUTH_TOKEN`',
    shown: 'well-known; in production one made per deployment',
    production: '',
    secret: TOKEN,
  }),
  SIMULATOR_TEST_CALLS_PER_SECOND: callRate
    .optional()
    .meta({ description: 'like `CARRIER_CALLS_PER_SECOND`, for test keys', shown: '`unlimited`' }),
  SIMULATOR_TIME_SCALE: z.coerce
    .number()
    .positive()
    .default(1)
    .describe('speeds up the waits of scripted callees, not the audio'),
  SIMULATOR_CONTROL: z
    .enum(['true', 'false'])
    .transform((value) => value === 'true')
    .optional()
    .meta({
      description:
        'whether programs on the machine of the simulated carrier may [control it](simulated-carrier.md#control-it) without a token',
      shown: '`true`, in production `false`',
    }),
};
type SimulatorVariables = z.infer<z.ZodObject<typeof simulatorVariables>> & SimulatedAccountVariables;

export const simulatorSettings: CarrierSettings<SimulatorVariables & LiveCarrierVariables> = {
  isSimulated: true,
  liveAccount: (values) => ({
    kind: 'simulator',
    ...simulatedAccount('live', values),
    baseUrl: values.SIMULATOR_URL,
    fromNumber: values.CARRIER_FROM_NUMBER ?? '+12025550199',
    ...pace(values.CARRIER_CALLS_PER_SECOND),
  }),

  furtherAccounts: {
    baseUrl: ({ SIMULATOR_URL: baseUrl }) => baseUrl,
    tokenFault(token) {
      if (isPublished(token)) return 'must not be a published one: set the output of openssl rand -hex 16';
      const weakness = weaknessOf(token, TOKEN.least);
      return weakness && `${weakness}: set the output of openssl rand -hex 16`;
    },
  },

  inProduction: [
    { variable: 'SIMULATOR_AUTH_TOKEN', fault: (values) => tokenFault('live', values) },
    { variable: 'SIMULATOR_TEST_AUTH_TOKEN', fault: (values) => tokenFault('test', values) },
    { variable: 'SIMULATOR_ACCOUNT_SID', fault: (values) => accountIdFault('live', values) },
    { variable: 'SIMULATOR_TEST_ACCOUNT_SID', fault: (values) => accountIdFault('test', values) },
  ],
};

/** Returns the account of test calls, which always use the simulated carrier. */
export function testCarrierAccount(values: SimulatorVariables): CarrierAccount {
  return {
    name: TEST_ACCOUNT,
    kind: 'simulator',
    isSimulated: true,
    ...simulatedAccount('test', values),
    baseUrl: values.SIMULATOR_URL,
    fromNumber: TEST_FROM_NUMBER,
    ...pace(values.SIMULATOR_TEST_CALLS_PER_SECOND),
  };
}
