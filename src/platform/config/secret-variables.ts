import { environment, type Environment } from './environment.js';
import { holdsGuessedWord, weaknessOf } from './secret-strength.js';

type Variable = keyof Environment;

/**
 * The values of `secret` in the `meta` of a variable with a secret:
 * - `given`: a provider issues it. Several variables may have the same one, but none may equal a secret that the operator
 *   created.
 * - `password`: a URL that contains a password.
 * - an object: the operator creates it, with this minimum length, by this command or hint. `isList`: several, separated by
 *   commas.
 * - `keys`: keys of encryption, which have other rules.
 */
type Secret = 'given' | 'password' | 'keys' | { least: number; remedy: string; isList?: true };

/** The variables with secrets, in the order of the schema. */
export const SECRETS = Object.entries(environment.shape).flatMap(([variable, schema]) => {
  const secret = schema.meta()?.['secret'] as Secret | undefined;
  return secret === undefined ? [] : [{ variable: variable as Variable, secret }];
});

const OWN = SECRETS.flatMap(({ variable, secret }) => (typeof secret === 'string' ? [] : [{ variable, ...secret }]));

const namesOf = (kind: Secret) => SECRETS.flatMap(({ variable, secret }) => (secret === kind ? [variable] : []));

const PASSWORD = /^[a-z+]{1,20}:\/\/[^/?#@:]*:([^/?#@]*)@/;

/** A problem with one variable. The sentence names the variable and the remedy. */
export interface Fault {
  variable: string;
  sentence: string;
}

/** Finds secrets that are easy to guess or serve two purposes. No sentence contains a secret. */
export function secretFaults(values: Environment): Fault[] {
  return [...weakSecrets(values), ...weakPasswords(values), ...sharedSecrets(values)];
}

function weakSecrets(values: Environment): Fault[] {
  return OWN.flatMap(({ variable, least, remedy, isList }) => {
    const weakness = secretsIn(textOf(values, variable), isList)
      .map((value) => weaknessOf(value, least))
      .find((fault) => fault !== undefined);
    return weakness === undefined
      ? []
      : [{ variable, sentence: `${variable} ${weakness}, which production rejects: ${remedy}.` }];
  });
}

function weakPasswords(values: Environment): Fault[] {
  return namesOf('password').flatMap((variable) =>
    holdsGuessedWord(passwordIn(textOf(values, variable)) ?? '')
      ? [{ variable, sentence: `${variable} must have a password of your own, such as openssl rand -hex 16 makes.` }]
      : [],
  );
}

function sharedSecrets(values: Environment): Fault[] {
  const own = [
    ...OWN.map(({ variable, isList }) => ({ variable, forms: secretsIn(textOf(values, variable), isList) })),
    ...namesOf('keys').map((variable) => ({ variable, forms: keyForms(textOf(values, variable)) })),
  ];
  const given = [
    ...namesOf('given').map((variable) => ({ variable, forms: secretsIn(textOf(values, variable)) })),
    ...namesOf('password').map((variable) => ({ variable, forms: secretsIn(passwordIn(textOf(values, variable))) })),
  ];
  return own.flatMap(({ variable, forms }, index) => {
    const others = [...own.slice(0, index), ...given];
    const same = others.find((other) => other.forms.some((form) => forms.includes(form)));
    return same === undefined
      ? []
      : [{ variable, sentence: `${variable} must differ from ${same.variable}: each secret serves one purpose.` }];
  });
}

function textOf(values: Environment, variable: Variable): string | undefined {
  const value = values[variable];
  return typeof value === 'string' ? value : undefined;
}

function secretsIn(value: string | undefined, isList = false): string[] {
  if (value === undefined || value === '') return [];
  return isList ? value.split(',') : [value];
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
