import { z } from 'zod';

const timestamp = z.string().meta({ format: 'date-time', examples: ['2026-11-21T10:00:00.000Z'] });

/** The body of the completion webhook. Optional fields without a value are absent, never null. */
export const CompletionPayload = z
  .object({
    call_id: z.string().describe('Call identifier; deduplicate by it.'),
    status: z.enum(['COMPLETED', 'FAILED', 'CANCELLED']).describe('Final status.'),
    call_direction: z
      .enum(['outbound', 'inbound'])
      .describe('Whether the service placed the call (outbound) or received it (inbound).'),
    from_phone_number: z.string().describe('Initiating number.'),
    to_phone_number: z.string().describe('Receiving number.'),
    agent_id: z.string().describe('Agent that handled the call; agent_tmp_… for a temporary one.'),
    agent_name: z
      .string()
      .optional()
      .describe('Name of the agent or draft. Absent if the request brought only an instruction.'),
    created_at: timestamp.describe('Time at which the call was requested.'),
    updated_at: timestamp.describe('Time of the last change to the call.'),
    start_time: timestamp.describe('Time of the answer, or created_at when the call was never answered.'),
    end_time: timestamp.describe('Time at which the call ended.'),
    duration_seconds: z.number().optional().describe('Billed seconds.'),
    recording_url: z.string().optional().describe('URL of the recording; reading it needs a key of the account.'),
    summary: z.string().describe('Text summary; always a sentence.'),
    transcription: z.string().optional().describe('Full transcription. Absent if the agent keeps none.'),
    input_parameters: z.string().describe('JSON object encoded as a string; {} when none was given.'),
    output_parameters: z.string().optional().describe('The extracted data, as a JSON object encoded as a string.'),
    external_call_id: z.string().describe('Echo of the tracking identifier, empty when none was given.'),
    cost: z.number().optional().describe('Cost of the call in USD.'),
    end_reason: z
      .string()
      .optional()
      .describe('Why the call ended, e.g. callee_hangup, busy, no_answer, max_duration.'),
    answered_by: z
      .enum(['human', 'voicemail', 'unknown'])
      .optional()
      .describe('Detected kind of answer. Absent when the call was not answered or nothing was detected.'),
    mode: z
      .enum(['live', 'test'])
      .optional()
      .describe(
        'Mode of the call: a test call reaches no phone and costs nothing. Absent in events of early releases.',
      ),
  })
  .meta({ id: 'CompletionPayload' });

export type CompletionPayload = z.infer<typeof CompletionPayload>;

export const COMPLETION_EXAMPLE: CompletionPayload = {
  call_id: 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  status: 'COMPLETED',
  call_direction: 'outbound',
  from_phone_number: '+12025550199',
  to_phone_number: '+12025550100',
  agent_id: 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  agent_name: 'Reminders',
  created_at: '2026-11-21T10:00:00.000Z',
  updated_at: '2026-11-21T10:00:52.000Z',
  start_time: '2026-11-21T10:00:04.000Z',
  end_time: '2026-11-21T10:00:51.000Z',
  duration_seconds: 47,
  recording_url: 'https://calls.example.com/calls/call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN/recording',
  summary: 'Ms Chen confirmed her appointment.',
  transcription: 'Agent: Good morning.\nCaller: Good morning.',
  input_parameters: '{"customer":"Ms Chen"}',
  output_parameters: '{"confirmed":true}',
  external_call_id: 'order-4711',
  cost: 0.1175,
  end_reason: 'callee_hangup',
  answered_by: 'human',
  mode: 'live',
};
