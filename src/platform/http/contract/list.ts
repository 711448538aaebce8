import { z } from 'zod';
import { ofLength } from './fields.js';

/** A page of a list. */
export function listOf<T extends z.ZodType>(item: T, id: string) {
  return z
    .object({
      data: z.array(item).describe('Newest first, unless said otherwise.'),
      has_more: z.boolean().describe('Whether there are more entries after this page.'),
      next_cursor: z.string().optional().describe('For the next page; absent on the last one.'),
    })
    .meta({ id });
}

const BLANK = '[ \\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000\\uFEFF]*';
const NO_CONTROL = '[^\\x00-\\x1f\\x7f-\\x9f]*';
/** Something to see, and no control characters, in what all dialects of regular expressions have in common. */
const LABEL = `^${BLANK}[^\\s\\uFEFF\\x00-\\x1f\\x7f-\\x9f]${NO_CONTROL}$`;

export const timestamp = (description: string) => z.string().meta({ format: 'date-time', description });

/** A short text of people, such as a name. */
export function label(field: string, maxLength = 100) {
  const fault = `${field} must have 1 to ${maxLength} characters.`;
  const string = z.string({
    error: (issue) => (issue.input === undefined ? `${field} is required.` : `${field} must be a string.`),
  });
  return ofLength(string, { min: 1, max: maxLength }, fault)
    .refine((value) => value.trim() !== '', fault)
    .refine((value) => !/\p{Cc}|\p{Surrogate}/u.test(value), `${field} holds characters that are not text.`)
    .meta({ pattern: LABEL })
    .trim();
}

/** A time in a JSON body. */
export function time(field: string) {
  const fault = `${field} must be a time in UTC such as 2026-12-01T00:00:00Z.`;
  return z
    .string(fault)
    .refine((text) => z.iso.datetime().safeParse(text).success, fault)
    .meta({ format: 'date-time', pattern: 'Z$', examples: ['2027-12-01T00:00:00.000Z'] });
}
