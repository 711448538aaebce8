import { mayBePlain } from './addresses.js';
import { encryptionKeysFault } from './encryption.js';
import { DEVELOPMENT_PEPPER, listOf, type Environment } from './environment.js';
import { accountSidFault, isPublished, tokenFault } from './simulated-accounts.js';

interface Check {
  /** The variable at fault. */
  variable: keyof Environment;
  /** What is wrong and what to do, in a sentence that names the variable; undefined when nothing is. */
  fault: (values: Environment) => string | undefined;
}

/** @param near where an address may be that does without TLS */
function encrypted(
  variable: keyof Environment,
  schemes: readonly ('https' | 'wss')[],
  near: 'nowhere' | 'machine' | 'network',
): Check {
  return {
    variable,
    fault: (values) => {
      const address = values[variable];
      if (typeof address !== 'string' || schemes.some((scheme) => address.startsWith(`${scheme}://`))) return undefined;
      if (mayBePlain(address, near)) return undefined;
      return `${variable} must use ${schemes.join(' or ')} in production, like ${schemes[0]}://calls.example.com.`;
    },
  };
}

/** What production demands beyond the form of each variable. */
const CHECKS: readonly Check[] = [
  {
    variable: 'API_KEY_PEPPER',
    fault: ({ API_KEY_PEPPER }) =>
      API_KEY_PEPPER === undefined || API_KEY_PEPPER === DEVELOPMENT_PEPPER
        ? 'API_KEY_PEPPER must be set in production (32 characters or more, kept secret, not the one of development).'
        : undefined,
  },
  {
    variable: 'TWILIO_AUTH_TOKEN',
    fault: ({ TWILIO_AUTH_TOKEN }) =>
      isPublished(TWILIO_AUTH_TOKEN)
        ? 'TWILIO_AUTH_TOKEN must be the token of your Twilio account, not a published one of the simulated carrier.'
        : undefined,
  },
  {
    variable: 'ENCRYPTION_KEYS',
    fault: ({ ENCRYPTION_KEYS, API_KEY_PEPPER }) => encryptionKeysFault(ENCRYPTION_KEYS, API_KEY_PEPPER),
  },
  {
    variable: 'CARRIER',
    fault: ({ CARRIER }) =>
      CARRIER === undefined
        ? 'CARRIER must be named in production: twilio, or simulator if no real call shall ever be placed.'
        : undefined,
  },
  encrypted('PUBLIC_BASE_URL', ['https'], 'nowhere'),
  encrypted('STREAM_URL', ['wss'], 'nowhere'),
  encrypted('CARRIER_BASE_URL', ['https'], 'nowhere'),
  encrypted('SIMULATOR_URL', ['https'], 'network'),
  encrypted('OPENAI_BASE_URL', ['https'], 'machine'),
  encrypted('LLM_BASE_URL', ['https'], 'machine'),
  encrypted('STT_BASE_URL', ['wss'], 'machine'),
  encrypted('TTS_BASE_URL', ['https', 'wss'], 'machine'),
  encrypted('TEMPORAL_UI_URL', ['https'], 'machine'),
  { variable: 'SIMULATOR_AUTH_TOKEN', fault: (values) => tokenFault('live', values) },
  { variable: 'SIMULATOR_TEST_AUTH_TOKEN', fault: (values) => tokenFault('test', values) },
  { variable: 'SIMULATOR_ACCOUNT_SID', fault: (values) => accountSidFault('live', values) },
  { variable: 'SIMULATOR_TEST_ACCOUNT_SID', fault: (values) => accountSidFault('test', values) },
  {
    variable: 'ALLOWED_COUNTRY_PREFIXES',
    fault: ({ ALLOWED_COUNTRY_PREFIXES }) =>
      listOf(ALLOWED_COUNTRY_PREFIXES).length === 0
        ? 'ALLOWED_COUNTRY_PREFIXES must be set in production: the countries that may be called, like +1,+44, or all.'
        : undefined,
  },
  {
    variable: 'SIGN_UP',
    fault: ({ SIGN_UP, SMTP_URL }) =>
      SIGN_UP === 'open' && SMTP_URL === undefined
        ? 'SIGN_UP=open needs SMTP_URL in production, so that new accounts can verify their e-mail addresses.'
        : undefined,
  },
];

/** Every variable whose value is the one of an example, whatever it is for. */
function placeholderFaults(values: Environment): Fault[] {
  return Object.entries(values).flatMap(([variable, value]) =>
    typeof value === 'string' && value.toLowerCase().includes('change-me')
      ? [{ variable, sentence: `${variable} still holds the placeholder change-me: set a value of your own.` }]
      : [],
  );
}

/** What is wrong with one variable, in a sentence that names it and the remedy. */
export interface Fault {
  variable: string;
  sentence: string;
}

/** Every reason why these settings must not run in production; empty when there is none. */
export function productionFaults(values: Environment): Fault[] {
  const found = CHECKS.flatMap(({ variable, fault }) => {
    const sentence = fault(values);
    return sentence === undefined ? [] : [{ variable, sentence }];
  });
  return [...found, ...placeholderFaults(values)];
}
