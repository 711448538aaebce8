import { mayBePlain } from './addresses.js';
import { plainMongodbFault } from './database-links.js';
import { encryptionKeysFault, weakKeysFault } from './encryption.js';
import { DEVELOPMENT_PEPPER, itemsOf, type Environment } from './environment.js';
import { isPrivateRange } from './private-ranges.js';
import { retentionChecks } from './retention-settings.js';
import { payloadKeys } from './temporal/payload-keys.js';
import { secretFaults, type Fault } from './secret-variables.js';
import type { ProductionCheck } from './carriers/account.js';
import { carrierProductionChecks, REAL_CARRIERS } from './carriers/carriers.js';

type Check = ProductionCheck<Environment>;

/** Requires TLS for a URL. @param near hosts that need no TLS, see `mayBePlain` */
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

/** The providers of the pipeline and their alternatives. */
const PROVIDERS = [
  'LLM_BASE_URL',
  'LLM_2_BASE_URL',
  'LLM_3_BASE_URL',
  'STT_BASE_URL',
  'STT_2_BASE_URL',
  'STT_3_BASE_URL',
  'TTS_BASE_URL',
  'TTS_2_BASE_URL',
  'TTS_3_BASE_URL',
] as const satisfies readonly (keyof Environment)[];

/** URLs that the service appends a path to. */
const BASES = [
  'PUBLIC_BASE_URL',
  'STREAM_URL',
  'CARRIER_BASE_URL',
  'SIMULATOR_URL',
  'OPENAI_BASE_URL',
  ...PROVIDERS,
  'TEMPORAL_UI_URL',
  'RECORDING_S3_ENDPOINT',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
] as const satisfies readonly (keyof Environment)[];

/**
 * Rejects credentials in a URL, which leak into logs, and a query or fragment, because a path is appended to the URL.
 */
function bare(variable: (typeof BASES)[number]): Check {
  return {
    variable,
    fault: (values) => {
      const address = values[variable];
      if (address === undefined) return undefined;
      const { username, password } = new URL(address);
      return username + password === '' && !/[?#]/.test(address)
        ? undefined
        : `${variable} must have no user name, password, query or fragment.`;
    },
  };
}

/** Speech is streamed by HTTP or by websockets. */
function schemesOf(variable: (typeof PROVIDERS)[number]): readonly ('https' | 'wss')[] {
  if (variable.startsWith('LLM_')) return ['https'];
  return variable.startsWith('STT_') ? ['wss', 'https'] : ['https', 'wss'];
}

/** Production checks beyond the format of each variable. */
const CHECKS: readonly Check[] = [
  {
    variable: 'API_KEY_PEPPER',
    fault: ({ API_KEY_PEPPER }) =>
      API_KEY_PEPPER === undefined || API_KEY_PEPPER === DEVELOPMENT_PEPPER
        ? 'API_KEY_PEPPER must be set to a unique secret in production: create one with openssl rand -hex 32.'
        : undefined,
  },
  {
    variable: 'ENCRYPTION_KEYS',
    fault: ({ ENCRYPTION_KEYS, API_KEY_PEPPER }) => encryptionKeysFault(ENCRYPTION_KEYS, API_KEY_PEPPER),
  },
  {
    variable: 'TEMPORAL_PAYLOAD_KEYS',
    fault: ({ TEMPORAL_PAYLOAD_KEYS, API_KEY_PEPPER }) =>
      weakKeysFault('TEMPORAL_PAYLOAD_KEYS', payloadKeys(TEMPORAL_PAYLOAD_KEYS).keys, API_KEY_PEPPER),
  },
  {
    variable: 'CARRIER',
    fault: ({ CARRIER }) =>
      CARRIER === undefined
        ? `CARRIER must be set in production: to ${REAL_CARRIERS.join(', ')}, or to simulator if no real calls are to be placed.`
        : undefined,
  },
  {
    variable: 'TEMPORAL_API_KEY',
    fault: ({ TEMPORAL_API_KEY, TEMPORAL_TLS }) =>
      TEMPORAL_API_KEY !== undefined && !TEMPORAL_TLS
        ? 'TEMPORAL_API_KEY would be sent unencrypted: set TEMPORAL_TLS=true.'
        : undefined,
  },
  {
    variable: 'WEBHOOK_ALLOW_CIDRS',
    fault: ({ WEBHOOK_ALLOW_CIDRS }) =>
      itemsOf(WEBHOOK_ALLOW_CIDRS).every(isPrivateRange)
        ? undefined
        : 'WEBHOOK_ALLOW_CIDRS must contain private networks only, like 10.1.2.0/24, without loopback, link-local and ' +
          'cloud metadata addresses: list only the networks of your webhook endpoints; public addresses need no entry.',
  },
  {
    variable: 'SMTP_URL',
    fault: ({ SMTP_URL }) =>
      /[?#]/.test(SMTP_URL ?? '')
        ? 'SMTP_URL must not contain ? or #, because an option after them could turn TLS off. Percent-encode these characters in a password.'
        : undefined,
  },
  { variable: 'MONGODB_URI', fault: plainMongodbFault },
  ...BASES.map(bare),
  encrypted('PUBLIC_BASE_URL', ['https'], 'nowhere'),
  encrypted('STREAM_URL', ['wss'], 'nowhere'),
  encrypted('CARRIER_BASE_URL', ['https'], 'nowhere'),
  encrypted('SIMULATOR_URL', ['https'], 'network'),
  encrypted('OPENAI_BASE_URL', ['https'], 'machine'),
  ...PROVIDERS.map((variable) => encrypted(variable, schemesOf(variable), 'machine')),
  encrypted('TEMPORAL_UI_URL', ['https'], 'machine'),
  encrypted('RECORDING_S3_ENDPOINT', ['https'], 'network'),
  encrypted('OTEL_EXPORTER_OTLP_ENDPOINT', ['https'], 'network'),
  encrypted('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', ['https'], 'network'),
  ...carrierProductionChecks,
  ...retentionChecks,
  {
    variable: 'ALLOWED_COUNTRY_PREFIXES',
    fault: ({ ALLOWED_COUNTRY_PREFIXES }) =>
      itemsOf(ALLOWED_COUNTRY_PREFIXES).length === 0
        ? 'ALLOWED_COUNTRY_PREFIXES must be set in production: the countries that may be called, like +1,+44, or all.'
        : undefined,
  },
  {
    variable: 'PAYMENT_LINK_IDS',
    fault: ({ PAYMENT_LINK_IDS, PAYMENT_WEBHOOK_SECRET }) =>
      PAYMENT_WEBHOOK_SECRET !== undefined && itemsOf(PAYMENT_LINK_IDS).length === 0
        ? 'PAYMENT_LINK_IDS must be set in production with PAYMENT_WEBHOOK_SECRET: the ids of the payment links that sell ' +
          'top-ups, like plink_1AbC, or any if everything that is sold with the account at the payment provider is a top-up.'
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

/** Finds the placeholder `change-me` in any variable. */
function placeholderFaults(values: Environment): Fault[] {
  return Object.entries(values).flatMap(([variable, value]) =>
    typeof value === 'string' && /(?<![a-z])change[-_ .]?me(?![a-z])/i.test(value)
      ? [{ variable, sentence: `${variable} still contains the placeholder change-me: set your own value.` }]
      : [],
  );
}

/** Returns why production must not run with these settings, at most one reason per variable. */
export function productionFaults(values: Environment): Fault[] {
  const found = CHECKS.flatMap(({ variable, fault }) => {
    const sentence = fault(values);
    return sentence === undefined ? [] : [{ variable, sentence }];
  });
  const reported = new Set<string>();
  return [...placeholderFaults(values), ...found, ...secretFaults(values)].filter(({ variable }) => {
    const first = !reported.has(variable);
    reported.add(variable);
    return first;
  });
}
