import { z } from 'zod';
import { E164_PATTERN } from '../kernel/phone-number.js';
import { fullText, jsonObjectText, webhookUrl } from '../platform/http/contract/fields.js';
import { label } from '../platform/http/contract/list.js';
import type { FieldDefinition, FieldKind } from './fields/field-definition.js';
import { givenTools, isHttpUrl } from './tool-rules.js';

type Rules = { [K in FieldKind['kind']]: (name: string, field: Extract<FieldKind, { kind: K }>) => z.ZodType };

const WORD = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
/** Ids at a provider. Ids of voices have no slash, because they are parts of paths. */
const PROVIDER_IDS = {
  model: { pattern: /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/, marks: '._:/@+-' },
  voice: { pattern: /^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$/, marks: '._+-' },
};
const LANGUAGE_TAG = /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/;

/** Validation rule of each field kind. Error messages start with the field's public name. */
const RULES: Rules = {
  label: (name, { max }) => label(name, max),
  text: (name, { max }) => fullText(name, max).trim(),
  seconds: (name, { min, max }) => {
    const fault = `${name} must be a whole number from ${min} to ${max}.`;
    return z.int(fault).min(min, fault).max(max, fault);
  },
  number: (name, { min, max, whole }) => {
    const fault = `${name} must be a ${whole === true ? 'whole number' : 'number'} from ${min} to ${max}.`;
    return (whole === true ? z.int(fault) : z.number(fault)).min(min, fault).max(max, fault);
  },
  choice: (name, { of }) => z.enum(of, `${name} must be one of ${of.join(', ')}.`),
  choices: (name, { of }) => {
    const fault = `${name} must be a list of ${of.join(', ')}.`;
    return z
      .array(z.enum(of, fault), fault)
      .max(of.length, `${name} must have at most ${of.length} entries.`)
      .overwrite((given) => [...new Set(given)]);
  },
  yesNo: (name) => z.boolean(`${name} must be true or false.`),
  phoneNumber: (name) =>
    z.string(`${name} must be a string.`).regex(E164_PATTERN, `${name} must be in E.164 format, like +12025550123.`),
  phoneNumbers: (name, { max }) =>
    z
      .array(
        z
          .string(`${name} must be a list of strings.`)
          .regex(E164_PATTERN, `${name} must contain numbers in E.164 format, like +12025550123.`),
        `${name} must be a list of numbers.`,
      )
      .max(max, `${name} must have at most ${max} numbers.`),
  terms: (name, { max, maxCharacters }) =>
    z
      .array(label(`${name}: a term`, maxCharacters), `${name} must be a list of strings.`)
      .max(max, `${name} must have at most ${max} terms.`),
  pronunciations: (name, { max, maxCharacters }) =>
    z
      .array(
        z.strictObject(
          {
            text: label(`${name}: text`, maxCharacters).describe('The word as it is written.'),
            spoken: label(`${name}: spoken`, maxCharacters).describe('The word as it is spoken.'),
          },
          `${name} must be a list of objects of text and spoken.`,
        ),
        `${name} must be a list of objects of text and spoken.`,
      )
      .max(max, `${name} must have at most ${max} entries.`),
  providerId: (name, { of }) => {
    const { pattern, marks } = PROVIDER_IDS[of];
    const fault = `${name} must have 1 to 128 letters, digits or ${marks}, and begin with a letter or digit.`;
    return z.string(`${name} must be a string.`).regex(pattern, fault);
  },
  tools: (name, { max }) => givenTools(name, max),
  word: (name) =>
    z.string(`${name} must be a string.`).regex(WORD, `${name} must be a word of 1 to 64 letters, digits, _ or -.`),
  language: (name) => {
    const fault = `${name} must be a language tag like en-US.`;
    return z.string(`${name} must be a string.`).max(35, fault).regex(LANGUAGE_TAG, fault).overwrite(canonicalTag);
  },
  template: (name) => jsonObjectText(name, true),
  url: (name) => webhookUrl.refine(isHttpUrl, `${name} must be a valid http or https URL.`),
};

/** Returns the validation rule of a field, with its description for the OpenAPI document. */
export function ruleOf(name: string, field: FieldDefinition): z.ZodType {
  const rule = (RULES[field.kind] as (name: string, field: FieldKind) => z.ZodType)(name, field);
  return rule.meta({ description: field.about, ...(field.examples ? { examples: [...field.examples] } : {}) });
}

/**
 * Normalizes a language tag: `EN-us` becomes `en-US`. An invalid tag is returned unchanged; the voice check rejects it.
 */
function canonicalTag(text: string): string {
  try {
    return Intl.getCanonicalLocales(text)[0] ?? text;
  } catch {
    return text;
  }
}
