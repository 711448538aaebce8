import { z } from 'zod';
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

/** Statuses of a call response. A cancelled call reads FAILED here; the completion webhook says CANCELLED. */
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
    'What the agent shall do. Without agent_id it makes a temporary agent for this call; with agent_id it replaces that agent’s instruction for this call.',
  examples: ['Remind Ms Chen of her appointment tomorrow at 3 pm and ask whether she will come.'],
});

/** POST /outbound_call without call_id, after nulls and an empty agent_id are taken for absent. */
export const OutboundCallRequest = z
  .object({
    to_phone_number: toPhoneNumber(),
    agent_id: agentId.optional(),
    instruction: instruction.optional(),
    webhook_url: webhookUrl.optional(),
    external_call_id: externalCallId.optional(),
    input_parameters: jsonObjectText('input_parameters', false)
      .optional()
      .meta({
        description: 'A JSON object, encoded as a string: parameters passed to the agent.',
        examples: ['{"customer":"Ms Chen"}'],
      }),
    output_parameters: jsonObjectText('output_parameters', true)
      .optional()
      .meta({
        description:
          'A JSON object, encoded as a string: its keys name the data to extract, its values (null, boolean, number or string) stand when nothing was said. Replaces the agent’s template.',
        examples: ['{"confirmed":null}'],
      }),
  })
  .refine((request) => request.agent_id !== undefined || request.instruction !== undefined, {
    error: 'agent_id or instruction is required.',
    // Told together with the faults of other fields, not only when those are mended.
    when: () => true,
  });
export type OutboundCallRequest = z.infer<typeof OutboundCallRequest>;

/** Something must say what the agent does; a blank text is as good as none. */
export const SAYS_WHAT_TO_DO = {
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

/** The same request as the interface document shows it: a call to place, or, with call_id, a question about one. */
export const OutboundCallBody = z
  .union([
    z.looseObject({ call_id: callId }).meta({ id: 'CallStatusRequest' }),
    z.looseObject(OutboundCallRequest.shape).meta({ id: 'PlaceCallRequest', ...SAYS_WHAT_TO_DO }),
  ])
  .meta({ id: 'OutboundCallRequest' });

/** GET /outbound_call without call_id. */
export const OutboundCallQuery = z.object({
  to_phone_number: toPhoneNumber(' In a query string the plus is written %2B.'),
  agent_id: ofLength(
    z.string({
      error: (issue) =>
        issue.input === undefined
          ? 'agent_id is required. A call from an instruction, and input_parameters or output_parameters, are taken by POST only.'
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

/** The same parameters as the interface document shows them. */
export const OutboundCallParameters = z.object({
  ...OutboundCallQuery.partial().shape,
  call_id: callId.optional(),
});
