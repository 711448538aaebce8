import { z } from 'zod';
import { NewAgentBody } from '../../agents/schemas.js';
import { EXAMPLE_CALL_ID } from '../../platform/http/contract/call-params.js';
import { NOT_BLANK } from '../../platform/http/contract/fields.js';
import { defineRoute, ratedJsonResponse } from '../../platform/http/contract/route.js';
import { OutboundCallRequest, requireAgentOrInstruction } from '../placing/contract.js';

const { to_phone_number: _toPhoneNumber, ...conducted } = OutboundCallRequest.shape;

/** The rule of `requireAgentOrInstruction` as JSON Schema. */
const ONE_OF_THEM = [
  ...(['agent_id', 'instruction'] as const).map((field) => ({
    required: [field],
    properties: {
      [field]: {
        type: 'string' as const,
        pattern: NOT_BLANK,
        description: 'One of agent_id, agent and instruction is required, and a text must contain more than spaces.',
      },
    },
  })),
  { required: ['agent'] },
];

export const WebCallRequest = requireAgentOrInstruction(
  z.strictObject({
    ...conducted,
    agent: NewAgentBody.optional().describe(
      'A draft that conducts this call and is not stored. With agent_id it is a draft of that agent: its tools keep their secret headers by the rules of PATCH /agents/{agent_id}. A test key can send drafts of test agents only.',
    ),
  }),
  'agent',
).meta({ id: 'WebCallRequest', anyOf: ONE_OF_THEM });
export type WebCallRequest = z.infer<typeof WebCallRequest>;

export const WebCall = z
  .object({
    call_id: z.string().describe('Call identifier.'),
    url: z.string().describe('Address of the WebSocket that carries the audio.'),
    token: z
      .string()
      .describe('Secret for the first message on the WebSocket. Admits one socket. Valid for at least 60 s.'),
  })
  .meta({ id: 'WebCall' });

/** Calls from a browser. */
export const webCallRoutes = {
  createWebCall: defineRoute({
    method: 'post',
    path: '/web_calls',
    tag: 'Calls',
    summary: 'Start a call in the browser',
    description:
      'Starts a call between an agent and a browser, which connects to the returned WebSocket and sends the token in its first message. It is an inbound call from web:<name of the key or member> to web, with the price and the limits of received calls. Without a socket it ends as CANCELLED after 60 to 90 s and costs nothing.',
    auth: 'keyOrSession',
    changes: 'mode',
    // GET /calls lists the calls. But a draft can send an agent's secret headers to other paths, as a change can.
    unaudited: (body) => !('agent' in body),
    counts: 'drafts',
    body: {
      contentType: 'application/json',
      schema: WebCallRequest,
      examples: {
        agent: { agent_id: 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN' },
        draft: {
          agent: { name: 'Visits', instruction: 'Ask which day suits the caller for a visit.', voice: 'amber' },
        },
        instruction: { instruction: 'Ask which day suits the caller for a visit.', output_parameters: '{"day":null}' },
      },
    },
    success: ratedJsonResponse('The call waits for its browser.', WebCall, {
      call: {
        call_id: EXAMPLE_CALL_ID,
        url: `wss://stream.example.com/stream/${EXAMPLE_CALL_ID}/web`,
        token: 'pWm1nQ4v0b8fXo2kUZcT6dLr3sHy9aJeGiRwEtKxBhM',
      },
    }),
    errors: ['INSUFFICIENT_BALANCE', 'SPEND_LIMIT_EXCEEDED', 'AGENT_NOT_FOUND', 'CONCURRENCY_LIMIT_EXCEEDED'],
  }),
};
