import { urlFrom } from '../kernel/text.js';
import { z } from 'zod';
import { fullText, HTTP_URL, ofLength } from '../platform/http/contract/fields.js';
import { toolSchemaFault } from './tool-schema.js';

/**
 * Tool names that customers cannot use: the service's built-in tools, and functions by which the LLM reports to an
 * engine.
 */
const OWN_TOOLS = ['end_call', 'send_dtmf', 'transfer_call', 'answering_machine'];
const MAX_PARAMETERS = 8_192;

/** Fields of a tool in both requests and responses. */
const toolFields = {
  name: z
    .string('tools: name is required.')
    .regex(/^[a-z][a-z0-9_]{0,63}$/, 'tools: name must have 1 to 64 lowercase letters, digits or _.')
    .refine((name) => !OWN_TOOLS.includes(name), `tools: name must not be a reserved one (${OWN_TOOLS.join(', ')}).`)
    .meta({ description: 'Lowercase letters, digits and _.', examples: ['find_slot'] }),
  description: fullText('tools: description', 1_000)
    .meta({ description: 'Tells the model when to use the tool.' })
    .trim(),
  method: z
    .enum(['GET', 'POST'], 'tools: method must be GET or POST.')
    .describe('HTTP method of the request that the tool makes.'),
  url: ofLength(z.string('tools: url is required.'), { max: 2_048 }, 'tools: url must have at most 2048 characters.')
    .refine(isHttpUrl, 'tools: url must be an http or https URL.')
    .meta({
      description: 'HTTP or HTTPS URL that the tool requests.',
      format: 'uri',
      pattern: HTTP_URL,
      examples: ['https://example.com/slots'],
    }),
  parameters: ofLength(
    z.string('tools: parameters must be a JSON Schema encoded as a string.'),
    { max: MAX_PARAMETERS },
    `tools: parameters must have at most ${MAX_PARAMETERS} characters.`,
  )
    .superRefine((text, context) => {
      // The length rule rejects a text this long, so do not parse it.
      const fault = text.length > 2 * MAX_PARAMETERS ? undefined : toolSchemaFault(text);
      if (fault !== undefined) context.addIssue({ code: 'custom', message: `tools: parameters ${fault}.` });
    })
    .meta({
      format: 'json-schema',
      contentMediaType: 'application/schema+json',
      description: 'JSON Schema of its arguments, of type object, in a string.',
      examples: ['{"type":"object","properties":{"day":{"type":"string"}},"required":["day"]}'],
    }),
};

const headerNames = z
  .array(z.string('tools: header_names must be a list of names.'), 'tools: header_names must be a list of names.')
  .max(10, 'tools: header_names must have at most 10 entries.')
  .optional();

const given = {
  ...toolFields,
  headers: z
    .record(
      z.string(),
      z
        .string('tools: headers must be an object of names and strings.')
        .meta({ minLength: 1, maxLength: 2_048, pattern: '^[!-~]([ -~]*[!-~])?$' })
        .nullable(),
      'tools: headers must be an object of names and strings.',
    )
    .nullable()
    .optional()
    .meta({
      writeOnly: true,
      maxProperties: 10,
      propertyNames: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$' },
      description:
        'Secret headers of its requests, by name, never shown. If the agent already has the tool, headers that are not given are kept, as long as the origin of url stays the same; null removes one header, or all.',
    }),
  header_names: headerNames.meta({ description: 'As in a response; ignored in requests.' }),
};

const givenTool = z
  .strictObject(given, `tools: each must be an object of ${Object.keys(given).join(', ')}.`)
  .meta({ id: 'AgentToolInput' });

const shownTool = z
  .object({
    ...toolFields,
    header_names: headerNames.meta({ readOnly: true, description: 'Its secret headers; their values are not shown.' }),
  })
  .meta({ id: 'AgentTool' });

/**
 * A tool in a request, with header values in clear text. A header whose value is null is removed. If `headers` itself
 * is null, all headers are removed.
 */
export type GivenTool = z.output<typeof givenTool>;

export const shownTools = z.array(shownTool);

/** Returns the validation rule for an agent's list of tools. */
export function givenTools(field: string, max: number) {
  return z
    .array(givenTool, `${field} must be a list.`)
    .max(max, `${field} must have at most ${max} tools.`)
    .refine((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, {
      error: `${field} must have unique names.`,
      when: ({ issues }) => issues.length === 0,
    });
}

/** Whether a text is an http or https URL. */
export function isHttpUrl(text: string): boolean {
  return ['http:', 'https:'].includes(urlFrom(text)?.protocol ?? '');
}
