import { z } from 'zod';
import { weaknessOf } from '../secret-strength.js';
import { carrierAccountId, pace, type CarrierSettings, type LiveCarrierVariables } from './account.js';
import { isPublished } from './simulated-accounts.js';

/** Twilio's limit for a new account. */
const TWILIO_CALLS_PER_SECOND = 1;

export const twilioVariables = {
  TWILIO_ACCOUNT_SID: carrierAccountId.optional().meta({ description: 'required by `CARRIER=twilio`', production: '' }),
  TWILIO_AUTH_TOKEN: z.string().min(1).optional().meta({
    description: 'required by `CARRIER=twilio`, also with an API key: Twilio signs its requests with the token',
    production: '',
    secret: 'given',
  }),
  TWILIO_OTHER_AUTH_TOKEN: z.string().min(1).optional().meta({
    description:
      'second token whose signatures are accepted, while the token [changes](operations/secrets.md#the-carriers-token)',
    secret: 'given',
  }),
  TWILIO_API_KEY_SID: z
    .string()
    .regex(/^SK[0-9a-f]{32}$/, 'must be SK and 32 digits 0 to 9 or a to f, in lower case')
    .optional()
    .meta({
      description:
        'API key of the account, with which requests to Twilio are authenticated instead of the auth token. Needs `TWILIO_API_KEY_SECRET`',
    }),
  TWILIO_API_KEY_SECRET: z.string().min(1).optional().meta({
    description: 'secret of `TWILIO_API_KEY_SID`',
    secret: 'given',
  }),
};
type TwilioVariables = z.infer<z.ZodObject<typeof twilioVariables>>;

const TWILIO_URL = 'https://api.twilio.com';

export const twilioSettings: CarrierSettings<TwilioVariables & LiveCarrierVariables> = {
  isSimulated: false,

  liveAccount(values) {
    const apiKey = apiKeyOf(values);
    const { TWILIO_ACCOUNT_SID: accountId, TWILIO_AUTH_TOKEN: authToken, CARRIER_FROM_NUMBER: fromNumber } = values;
    const { TWILIO_OTHER_AUTH_TOKEN: otherAuthToken } = values;
    if (accountId === undefined || authToken === undefined) {
      const why =
        apiKey.apiKey === undefined
          ? ''
          : ' An API key does not replace the token, because Twilio signs its requests with the token.';
      throw new Error(`CARRIER=twilio needs TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN.${why}`);
    }
    if (fromNumber === undefined)
      throw new Error('CARRIER=twilio needs CARRIER_FROM_NUMBER, a number of that account.');
    return {
      kind: 'twilio',
      carrierAccountId: accountId,
      authToken,
      ...(otherAuthToken === undefined ? {} : { otherAuthToken }),
      baseUrl: values.CARRIER_BASE_URL ?? TWILIO_URL,
      fromNumber,
      ...pace(values.CARRIER_CALLS_PER_SECOND ?? TWILIO_CALLS_PER_SECOND),
      ...apiKey,
    };
  },

  furtherAccounts: {
    callsPerSecond: TWILIO_CALLS_PER_SECOND,
    baseUrl: ({ CARRIER_BASE_URL: baseUrl }) => baseUrl ?? TWILIO_URL,
    tokenFault: (token) =>
      isTwilioToken(token)
        ? undefined
        : 'must be the token of the account, 32 hexadecimal digits: copy it from the Twilio console',
  },

  /** Rejects half an API key. */
  faults({ TWILIO_API_KEY_SID: sid, TWILIO_API_KEY_SECRET: secret }, malformed) {
    if (malformed.has('TWILIO_API_KEY_SID') || (sid === undefined) === (secret === undefined)) return [];
    return sid === undefined
      ? ['TWILIO_API_KEY_SECRET needs TWILIO_API_KEY_SID, the key of that secret.']
      : ['TWILIO_API_KEY_SID needs TWILIO_API_KEY_SECRET, the secret of that key.'];
  },

  inProduction: (['TWILIO_AUTH_TOKEN', 'TWILIO_OTHER_AUTH_TOKEN'] as const).map((variable) => ({
    variable,
    fault: ({ [variable]: token }: TwilioVariables) =>
      token !== undefined && !isTwilioToken(token)
        ? `${variable} must be the token of your Twilio account, 32 hexadecimal digits: copy it from the Twilio console.`
        : undefined,
  })),
};

function isTwilioToken(text: string): boolean {
  return /^[0-9a-f]{32}$/i.test(text) && !isPublished(text) && weaknessOf(text, 32) === undefined;
}

function apiKeyOf({ TWILIO_API_KEY_SID: sid, TWILIO_API_KEY_SECRET: secret }: TwilioVariables) {
  return sid === undefined || secret === undefined ? {} : { apiKey: { sid, secret } };
}
