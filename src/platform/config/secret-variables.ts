import type { Environment } from './environment.js';
import { FALLBACK_NUMBERS } from './fallback-variables.js';
import { holdsGuessedWord, weaknessOf } from './secret-strength.js';

type Variable = keyof Environment;

/** Secrets that the operator creates, each with its minimum length and a command or hint to create it. */
const OWN = {
  API_KEY_PEPPER: { least: 32, remedy: 'create one with openssl rand -hex 32' },
  PAYMENT_WEBHOOK_SECRET: { least: 32, remedy: "set the payment provider's, or one created with openssl rand -hex 32" },
  SIMULATOR_AUTH_TOKEN: {
    least: 32,
    remedy: 'leave it empty to have one generated, or set the output of openssl rand -hex 16',
  },
  SIMULATOR_TEST_AUTH_TOKEN: {
    least: 32,
    remedy: 'leave it empty to have one generated, or set the output of openssl rand -hex 16',
  },
  TEMPORAL_POSTGRES_PASSWORD: { least: 16, remedy: 'create one with openssl rand -hex 16' },
} satisfies Partial<Record<Variable, { least: number; remedy: string }>>;
const OWN_NAMES = Object.keys(OWN) as (keyof typeof OWN)[];

/**
 * Secrets that providers issue. Several variables may have the same one, but none may equal a secret that the operator
 * created.
 */
const GIVEN = [
  'TWILIO_AUTH_TOKEN',
  'TWILIO_API_KEY_SECRET',
  'TEMPORAL_API_KEY',
  'OPENAI_API_KEY',
  'DEEPGRAM_API_KEY',
  'STT_API_KEY',
  'LLM_API_KEY',
  'ELEVENLABS_API_KEY',
  'TTS_API_KEY',
  ...FALLBACK_NUMBERS.flatMap((number) => [
    `STT_${number}_API_KEY` as const,
    `LLM_${number}_API_KEY` as const,
    `TTS_${number}_API_KEY` as const,
  ]),
] as const satisfies readonly Variable[];

/** URLs that contain a password. */
const WITH_PASSWORD = ['MONGODB_URI', 'SMTP_URL'] as const satisfies readonly Variable[];
const PASSWORD = /^[a-z+]{1,20}:\/\/[^/?#@:]*:([^/?#@]*)@/;

interface Fault {
  variable: string;
  sentence: string;
}

/** Finds secrets that are easy to guess or serve two purposes. No sentence contains a secret. */
export function secretFaults(values: Environment): Fault[] {
  return [...weakSecrets(values), ...weakPasswords(values), ...sharedSecrets(values)];
}

function weakSecrets(values: Environment): Fault[] {
  return OWN_NAMES.flatMap((variable) => {
    const value = values[variable];
    const weakness = value === undefined ? undefined : weaknessOf(value, OWN[variable].least);
    return weakness === undefined
      ? []
      : [{ variable, sentence: `${variable} ${weakness}, which production rejects: ${OWN[variable].remedy}.` }];
  });
}

function weakPasswords(values: Environment): Fault[] {
  return WITH_PASSWORD.flatMap((variable) =>
    holdsGuessedWord(passwordIn(values[variable]) ?? '')
      ? [{ variable, sentence: `${variable} must have a password of your own, such as openssl rand -hex 16 makes.` }]
      : [],
  );
}

function sharedSecrets(values: Environment): Fault[] {
  const own = [
    ...OWN_NAMES.map((variable) => ({ variable, forms: formsOf(values[variable]) })),
    { variable: 'ENCRYPTION_KEYS', forms: keyForms(values.ENCRYPTION_KEYS) },
  ];
  const given = [
    ...GIVEN.map((variable) => ({ variable, forms: formsOf(values[variable]) })),
    ...WITH_PASSWORD.map((variable) => ({ variable, forms: formsOf(passwordIn(values[variable])) })),
  ];
  return own.flatMap(({ variable, forms }, index) => {
    const others = [...own.slice(0, index), ...given];
    const same = others.find((other) => other.forms.some((form) => forms.includes(form)));
    return same === undefined
      ? []
      : [{ variable, sentence: `${variable} must differ from ${same.variable}: each secret serves one purpose.` }];
  });
}

function formsOf(value: string | undefined): string[] {
  return value === undefined || value === '' ? [] : [value];
}

/** Returns the forms in which a key might be used elsewhere: base64, hexadecimal digits, plain text. */
function keyForms(list: string | undefined): string[] {
  return (list?.split(',') ?? []).flatMap((entry) => {
    const base64 = entry.slice(entry.indexOf(':') + 1);
    const key = Buffer.from(base64, 'base64');
    return [base64, key.toString('hex'), key.toString('latin1')];
  });
}

function passwordIn(address: string | undefined): string | undefined {
  const password = PASSWORD.exec(address ?? '')?.[1];
  try {
    return password && decodeURIComponent(password);
  } catch {
    return password;
  }
}
