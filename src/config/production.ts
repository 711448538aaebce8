import { encryptionKeysFault } from './encryption.js';
import { listOf, type Environment } from './environment.js';
import { accountSidFault, tokenFault } from './simulated-accounts.js';

interface Check {
  /** The variable at fault. */
  variable: keyof Environment;
  /** What is wrong and what to do, in a sentence that names the variable; undefined when nothing is. */
  fault: (values: Environment) => string | undefined;
}

/** What production demands beyond the form of each variable. */
const CHECKS: readonly Check[] = [
  {
    variable: 'API_KEY_PEPPER',
    fault: ({ API_KEY_PEPPER }) =>
      API_KEY_PEPPER === undefined
        ? 'API_KEY_PEPPER must be set in production (32 characters or more, kept secret).'
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

/** Every reason why these settings must not run in production, one sentence each; empty when there is none. */
export function productionFaults(values: Environment): string[] {
  return CHECKS.flatMap(({ fault }) => fault(values) ?? []);
}
