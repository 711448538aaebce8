import { z } from 'zod';
import { EXAMPLE_CALL_ID } from '../../platform/http/contract/call-params.js';
import { defineRoute, rateLimitHeaders } from '../../platform/http/contract/route.js';
import {
  agentId,
  callId,
  externalCallId,
  jsonObjectText,
  MAX_LENGTHS,
  NOT_BLANK,
  ofLength,
  text,
  toPhoneNumber,
  webhookUrl,
} from '../../platform/http/contract/fields.js';

/** Statuses of a call response. A canceled call is FAILED here, but CANCELLED in the completion webhook. */
export const CallResponseStatus = z.enum(['IDLE', 'RINGING', 'IN_PROGRESS', 'COMPLETED', 'FAILED']).meta({
  id: 'CallResponseStatus',
  description: 'State of the call. A cancelled call reads FAILED here; GET /calls/{call_id} returns CANCELLED.',
});
export type CallResponseStatus = z.infer<typeof CallResponseStatus>;

export const CallResponse = z
  .object({
    success: z.boolean().describe('Whether the request succeeded.'),
    call_id: z.string().describe('Call identifier.'),
    status: CallResponseStatus,
    message: z.string().optional().describe('Response message.'),
  })
  .meta({ id: 'CallResponse' });
export type CallResponse = z.infer<typeof CallResponse>;

const instruction = text('instruction', MAX_LENGTHS.instruction).meta({
  description:
    'Instruction for the agent. Without agent_id it makes a temporary agent for this call; with agent_id it replaces that agent’s instruction for this call. With the agent’s tools it has at most 65,536 bytes in UTF-8.',
  examples: ['Remind Ms Chen of her appointment tomorrow at 3 pm and ask whether she will come.'],
});

/** Requires agent_id, instruction or another field that names the agent. @param other such fields */
export function requireAgentOrInstruction<T extends z.ZodObject>(request: T, ...other: string[]): T {
  const names = ['agent_id', ...other, 'instruction'];
  return request.refine((fields) => names.some((name) => fields[name] !== undefined), {
    error: `${names.slice(0, -1).join(', ')} or instruction is required.`,
    path: ['agent_id'],
    // Require one of the two even if other fields are invalid, so that the response reports all errors together.
    when: ({ value }) => typeof value === 'object' && value !== null,
  });
}

const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

/** Schema of the Idempotency-Key header. */
export function idempotencyKey(meta: { description: string; examples?: string[] }) {
  const fault = `Idempotency-Key must have 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} characters.`;
  return z.string(fault).min(1, fault).max(MAX_IDEMPOTENCY_KEY_LENGTH, fault).optional().meta(meta);
}

/** Parameters of POST /outbound_call without call_id. Nulls and an empty agent_id are removed before validation. */
export const OutboundCallRequest = requireAgentOrInstruction(
  z.object({
    to_phone_number: toPhoneNumber(),
    agent_id: agentId.optional(),
    instruction: instruction.optional(),
    webhook_url: webhookUrl.optional(),
    external_call_id: externalCallId.optional(),
    input_parameters: jsonObjectText('input_parameters', false)
      .optional()
      .meta({
        description:
          'A JSON object, encoded as a string, of at most 16,384 bytes in UTF-8: parameters passed to the agent.',
        examples: ['{"customer":"Ms Chen"}'],
      }),
    output_parameters: jsonObjectText('output_parameters', true)
      .optional()
      .meta({
        description:
          'A JSON object, encoded as a string: its keys name the data to extract, its values (null, boolean, number or string) give the type of each. Data that is not mentioned in the call is null in the result. At most 16,384 bytes in UTF-8. Replaces the agent’s template.',
        examples: ['{"confirmed":null}'],
      }),
  }),
);
export type OutboundCallRequest = z.infer<typeof OutboundCallRequest>;

/** The rule of `requireAgentOrInstruction` as JSON Schema: agent_id or instruction must be present and not blank. */
export const AGENT_OR_INSTRUCTION_SCHEMA = {
  required: ['to_phone_number'],
  anyOf: (['agent_id', 'instruction'] as const).map((field) => ({
    required: [field],
    properties: {
      [field]: {
        type: 'string' as const,
        pattern: NOT_BLANK,
        description: 'Either agent_id or instruction must contain more than spaces.',
      },
    },
  })),
};

/** The request body in the OpenAPI document: a call to place, or, with call_id, a status request. */
export const OutboundCallBody = z
  .union([
    z.looseObject({ call_id: callId }).meta({ id: 'CallStatusRequest' }),
    z.looseObject(OutboundCallRequest.shape).meta({ id: 'PlaceCallRequest', ...AGENT_OR_INSTRUCTION_SCHEMA }),
  ])
  .meta({ id: 'OutboundCallRequest' });

/** Parameters of GET /outbound_call without call_id. */
export const OutboundCallQuery = z.object({
  to_phone_number: toPhoneNumber(' In a query string the plus is written %2B.'),
  agent_id: ofLength(
    z.string({
      error: (issue) =>
        issue.input === undefined
          ? 'agent_id is required. Only POST accepts instruction, input_parameters and output_parameters.'
          : 'agent_id must be given once.',
    }),
    { max: 255 },
    'agent_id must have at most 255 characters.',
  ).meta({
    description: 'Agent to use. Required when call_id is absent.',
    examples: ['agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN'],
  }),
  webhook_url: webhookUrl.optional(),
  external_call_id: externalCallId.optional(),
});
export type OutboundCallQuery = z.infer<typeof OutboundCallQuery>;

/** Parameters of GET /outbound_call in the OpenAPI document. */
export const OutboundCallParameters = z.object({
  ...OutboundCallQuery.partial().shape,
  call_id: callId.optional(),
});

export const OutboundCallHeaders = z.object({
  'Idempotency-Key': idempotencyKey({
    description:
      'Makes the request safe to repeat for 24 hours: the same key and request return the first response of 200 or 402 again with Idempotent-Replayed: true, another request gets 409.',
    examples: ['order-4711-first-call'],
  }),
});

const AGENT_ID = 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN';
const ringing = { success: true, call_id: EXAMPLE_CALL_ID, status: 'RINGING', message: 'The call is ringing.' };
const completed = { success: true, call_id: EXAMPLE_CALL_ID, status: 'COMPLETED', message: 'The call is completed.' };

const WARNINGS =
  'unknown_fields= and the percent-encoded names of ignored fields, separated by commas: at most 20 and 1 kB. omitted= counts the others.';

/**
 * Places a call or reads its status. If the request has a call_id, all other fields are ignored. Because of that, the
 * handlers validate the request, not the route.
 */
export const placingRoutes = {
  placeCall: defineRoute({
    method: 'post',
    path: '/outbound_call',
    tag: 'Calls',
    summary: 'Place a call, or read the status of one',
    description:
      'Starts an outbound call conducted by an agent or by an instruction. With call_id, no call is placed and the status of that call is returned.',
    auth: 'key',
    unaudited: true,
    readsItself: true,
    changes: 'mode',
    headers: OutboundCallHeaders,
    body: {
      contentType: 'application/json',
      schema: OutboundCallBody,
      examples: {
        agent: {
          to_phone_number: '+12025550100',
          agent_id: AGENT_ID,
          webhook_url: 'https://example.com/call-completed',
        },
        instruction: {
          to_phone_number: '+12025550100',
          instruction: 'Remind Ms Chen of her appointment tomorrow at 3 pm and ask whether she will come.',
          input_parameters: '{"customer":"Ms Chen"}',
          output_parameters: '{"confirmed":null}',
          external_call_id: 'order-4711',
        },
        status: { call_id: EXAMPLE_CALL_ID },
      },
    },
    success: {
      description: 'The call was handed to the carrier, or the status of the call named by call_id.',
      contentType: 'application/json',
      schema: CallResponse,
      examples: { placed: ringing, status: completed },
      headers: {
        ...rateLimitHeaders,
        'Idempotent-Replayed': 'true when a stored response was returned.',
        'X-Callwright-Warnings': WARNINGS,
      },
    },
    errors: [
      'MISSING_PARAMS',
      'INSUFFICIENT_BALANCE',
      'DESTINATION_NOT_ALLOWED',
      'SPEND_LIMIT_EXCEEDED',
      'AGENT_NOT_FOUND',
      'CALL_NOT_FOUND',
      'IDEMPOTENCY_CONFLICT',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'CONCURRENCY_LIMIT_EXCEEDED',
    ],
  }),
  readOrPlaceCall: defineRoute({
    method: 'get',
    path: '/outbound_call',
    tag: 'Calls',
    summary: 'Read the status of a call, or place one',
    description:
      'With call_id the status of that call is returned and all other parameters are ignored. Without it a call is placed, so to_phone_number and agent_id are required. In a query string the plus of a number is written %2B. HEAD, OPTIONS and prefetches never place a call.',
    auth: 'key',
    readsItself: true,
    changes: 'mode',
    query: OutboundCallParameters,
    success: {
      description: 'The status of the call named by call_id, or the call was handed to the carrier.',
      contentType: 'application/json',
      schema: CallResponse,
      examples: { status: completed, placed: ringing },
      headers: { ...rateLimitHeaders, 'Cache-Control': 'no-store', 'X-Callwright-Warnings': WARNINGS },
    },
    errors: [
      'MISSING_PARAMS',
      'INSUFFICIENT_BALANCE',
      'FORBIDDEN',
      'DESTINATION_NOT_ALLOWED',
      'SPEND_LIMIT_EXCEEDED',
      'AGENT_NOT_FOUND',
      'CALL_NOT_FOUND',
      'CONCURRENCY_LIMIT_EXCEEDED',
    ],
  }),
};
