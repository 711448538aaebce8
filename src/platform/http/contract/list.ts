import { z } from 'zod';
import { ofLength } from './fields.js';

/** Default and maximum page size. A larger limit in a request is reduced to the maximum. */
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/** The schema of one page of a list. */
export function listOf<T extends z.ZodType>(item: T, id: string) {
  return z
    .object({
      data: z.array(item).describe('Newest first, unless documented otherwise.'),
      has_more: z.boolean().describe('Whether there are more entries after this page.'),
      next_cursor: z.string().optional().describe('Pass it as cursor to read the next page; absent on the last one.'),
    })
    .meta({ id });
}

const BLANK = '[ \\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000\\uFEFF]*';
const NO_CONTROL = '[^\\x00-\\x1f\\x7f-\\x9f]*';
/** Requires a visible character and no control characters, in syntax that all regular expression dialects have. */
const LABEL = `^${BLANK}[^\\s\\uFEFF\\x00-\\x1f\\x7f-\\x9f]${NO_CONTROL}$`;

export const timestamp = (description: string) => z.string().meta({ format: 'date-time', description });

/** A short text that people enter, such as a name. */
export function label(field: string, maxLength = 100) {
  const fault = `${field} must have 1 to ${maxLength} characters.`;
  const string = z.string({
    error: (issue) => (issue.input === undefined ? `${field} is required.` : `${field} must be a string.`),
  });
  return ofLength(string, { min: 1, max: maxLength }, fault)
    .refine((value) => value.trim() !== '', fault)
    .refine(
      (value) => !/\p{Cc}|\p{Surrogate}/u.test(value),
      `${field} must not contain control characters or invalid Unicode.`,
    )
    .meta({ pattern: LABEL })
    .trim();
}

/** A UTC time in a JSON body. */
export function time(field: string) {
  const fault = `${field} must be a UTC time such as 2026-12-01T00:00:00Z.`;
  return z
    .string(fault)
    .refine((text) => z.iso.datetime().safeParse(text).success, fault)
    .meta({ format: 'date-time', pattern: 'Z$', examples: ['2027-12-01T00:00:00.000Z'] });
}

/** The query parameters of a paginated list. */
export function paging(ofLimit = '', ofCursor = '') {
  return {
    limit: z
      .string('limit must be given once.')
      .regex(/^0*[1-9]\d*$/, 'limit must be a whole number from 1.')
      .transform((text) => Math.min(Number(text), MAX_LIMIT))
      .optional()
      .meta({
        type: 'integer',
        minimum: 1,
        default: DEFAULT_LIMIT,
        description: `Entries per page; values above ${MAX_LIMIT} are reduced to ${MAX_LIMIT}. ${ofLimit}`.trim(),
      }),
    cursor: z
      .string('cursor must be given once.')
      .min(1, 'cursor must not be empty.')
      .max(512, 'cursor must be a next_cursor of this service.')
      .optional()
      .meta({ description: `next_cursor of the previous page. ${ofCursor}`.trim() }),
  };
}

/** The page size of a query, or the default. */
export function pageSize(query: { limit?: number | undefined }): number {
  return query.limit ?? DEFAULT_LIMIT;
}
