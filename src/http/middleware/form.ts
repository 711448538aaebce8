import type { IncomingMessage } from 'node:http';
import { readBody } from './raw-body.js';

const MAX_FORM_BYTES = 64 * 1_024;

/** Fields of a form or a query: a string, or all values of a field that was given more than once. */
export type FormFields = Record<string, string | string[]>;

/**
 * Every field of a form body, unknown ones too: the carrier's signature covers them all. Parsed by URLSearchParams because
 * parsers that read brackets in names change what was signed.
 * @throws ServiceError PAYLOAD_TOO_LARGE
 */
export async function readForm(req: IncomingMessage): Promise<FormFields> {
  const bytes = await readBody(req, MAX_FORM_BYTES);
  return fieldsOf(new URLSearchParams(bytes.toString('utf8')));
}

export function fieldsOf(params: URLSearchParams): FormFields {
  // Without a prototype, so that a field of any name is only a field.
  const fields = Object.create(null) as FormFields;
  for (const name of new Set(params.keys())) {
    const values = params.getAll(name);
    fields[name] = values.length === 1 && values[0] !== undefined ? values[0] : values;
  }
  return fields;
}

/** The value of a field that was given once; a repeated one is as good as absent. */
export function single(fields: FormFields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' ? value : undefined;
}
