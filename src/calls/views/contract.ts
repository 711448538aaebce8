import { z } from 'zod';
import {
  requireAgentOrInstruction,
  idempotencyKey,
  OutboundCallRequest,
  AGENT_OR_INSTRUCTION_SCHEMA,
} from '../placing/contract.js';
import { callParams, EXAMPLE_CALL_ID } from '../../platform/http/contract/call-params.js';
import { defineRoute, ratedJsonResponse, rateLimitHeaders } from '../../platform/http/contract/route.js';
import {
  Call,
  CALL_EXAMPLE,
  CALL_SUMMARY_EXAMPLE,
  CallList,
  CallsQuery,
  CancelResponse,
  CallWaveform,
  EraseResponse,
  Trace,
  Transcript,
} from './schemas.js';

const json = 'application/json';
const headers = rateLimitHeaders;

/** The body of POST /outbound_call without call_id, except that unknown fields are rejected. */
const NewCallBody = requireAgentOrInstruction(z.strictObject(OutboundCallRequest.shape)).meta({
  id: 'NewCall',
  ...AGENT_OR_INSTRUCTION_SCHEMA,
});

/** Routes with which an account manages its calls. */
export const callRoutes = {
  listCalls: defineRoute({
    method: 'get',
    path: '/calls',
    tag: 'Calls',
    summary: 'List calls',
    description: 'Newest first. Calls created meanwhile do not change later pages.',
    auth: 'keyOrSession',
    load: 'list',
    query: CallsQuery,
    success: ratedJsonResponse('A page of calls.', CallList, {
      page: { data: [CALL_SUMMARY_EXAMPLE], has_more: true, next_cursor: 'pWm1…' },
    }),
    errors: [],
  }),
  createCall: defineRoute({
    method: 'post',
    path: '/calls',
    tag: 'Calls',
    summary: 'Place a call',
    description: 'Like POST /outbound_call without call_id, but returns the call itself. Unknown fields are rejected.',
    auth: 'keyOrSession',
    changes: 'mode',
    unaudited: true,
    headers: z.object({ 'Idempotency-Key': idempotencyKey({ description: 'As on POST /outbound_call.' }) }),
    body: {
      contentType: json,
      schema: NewCallBody,
      examples: { agent: { to_phone_number: '+12025550100', agent_id: CALL_EXAMPLE.agent_id } },
    },
    success: {
      description: 'The call, as it is now.',
      contentType: json,
      schema: Call,
      examples: { call: CALL_EXAMPLE },
      headers: { ...headers, 'Idempotent-Replayed': 'true when the call was placed by an earlier request.' },
    },
    errors: [
      'INSUFFICIENT_BALANCE',
      'DESTINATION_NOT_ALLOWED',
      'SPEND_LIMIT_EXCEEDED',
      'AGENT_NOT_FOUND',
      'IDEMPOTENCY_CONFLICT',
      'CONCURRENCY_LIMIT_EXCEEDED',
    ],
  }),
  readCall: defineRoute({
    method: 'get',
    path: '/calls/{call_id}',
    tag: 'Calls',
    summary: 'Read a call with its timeline, cost and webhook attempts',
    description:
      'Returns the call as it is now. Calls of another account or of the other mode are not found. Of more than 20 webhook attempts it has the last 20; GET /webhook_deliveries/{call_id} returns all.',
    auth: 'keyOrSession',
    load: 'detail',
    params: callParams,
    success: ratedJsonResponse('The call.', Call, { call: CALL_EXAMPLE }),
    errors: ['CALL_NOT_FOUND'],
  }),
  watchCall: defineRoute({
    method: 'get',
    path: '/calls/{call_id}/events',
    tag: 'Calls',
    summary: 'Watch a call',
    description:
      'Server-sent events named call, each with the call as GET /calls/{call_id} returns it: one at once, then one at each change. During the conversation, also events named conversation, at most two a second: within about a second of each word, if the engine reports words while they are spoken, and of each turn and value. Ends after the final one, or after 5 minutes. The right to watch is checked every 5 s: when the key or session is over, the last event is named end, with the error object.',
    auth: 'keyOrSession',
    params: callParams,
    success: {
      description: 'A stream of events.',
      contentType: 'text/event-stream',
      schema: z
        .object({
          event: z
            .enum(['call', 'conversation', 'end'])
            .describe(
              'Name of the event: call for a state of the call, conversation for the words of a call in progress, end when the right to watch is over.',
            ),
          data: z
            .string()
            .describe(
              'The call, as JSON; of conversation, an object with turns, the last 20 as the transcript has them, interim, what agent and caller are saying and what may still change (a list of speaker and text, which later turns replace), and output_parameters, the values so far; of end, the error object.',
            ),
        })
        .meta({ id: 'CallEvent', description: 'One event of the stream.' }),
      examples: { event: { event: 'call', data: '{"call_id":"call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN",…}' } },
      headers,
    },
    errors: ['CALL_NOT_FOUND', 'CONCURRENCY_LIMIT_EXCEEDED'],
  }),
  cancelCall: defineRoute({
    method: 'post',
    path: '/calls/{call_id}/cancel',
    tag: 'Calls',
    summary: 'Cancel a call, or hang it up',
    description:
      'Responds when the end of the call is confirmed, after 20 s at most: cancelled before an answer, or hung up after it. A call that had ended, or ends by itself at the same moment, gets 409 with its status. 503 means that the end was requested but is not confirmed yet. In each mode, an account may have 20 concurrent requests that cancel or erase calls.',
    auth: 'keyOrSession',
    changes: 'mode',
    bounded: true,
    params: callParams,
    success: ratedJsonResponse('The call has ended because of this request.', CancelResponse, {
      cancelled: { call_id: EXAMPLE_CALL_ID, result: 'cancelled', status: 'CANCELLED', end_reason: 'api_hangup' },
      hungUp: { call_id: EXAMPLE_CALL_ID, result: 'hung_up', status: 'COMPLETED', end_reason: 'api_hangup' },
    }),
    errors: ['CALL_NOT_FOUND', 'CALL_ENDED', 'CONCURRENCY_LIMIT_EXCEEDED'],
  }),
  readTranscript: defineRoute({
    method: 'get',
    path: '/calls/{call_id}/transcript',
    tag: 'Calls',
    summary: 'Read the transcript of a call',
    description: 'Returns the turns recorded so far, also while the call is in progress. An erased call has none.',
    auth: 'keyOrSession',
    load: 'list',
    params: callParams,
    success: ratedJsonResponse('The turns so far; empty when no words were spoken.', Transcript, {
      transcript: {
        call_id: EXAMPLE_CALL_ID,
        turns: [
          { speaker: 'caller', text: 'Who is this?', start_ms: 1_200, end_ms: 2_100 },
          { speaker: 'agent', text: 'Good morning.', start_ms: 2_600, end_ms: 3_500, latency_ms: 500 },
        ],
        text: 'caller: Who is this?\nagent: Good morning.',
      },
    }),
    errors: ['CALL_NOT_FOUND'],
  }),
  readTrace: defineRoute({
    method: 'get',
    path: '/calls/{call_id}/trace',
    tag: 'Calls',
    summary: 'Read the latencies and tool calls of a call',
    description:
      'Returns how long each response of the agent took, by stage, and the tools that it used with arguments and results, also while the call is in progress. Headers that are sent to tools are not stored. An erased call has none.',
    auth: 'keyOrSession',
    load: 'list',
    params: callParams,
    success: ratedJsonResponse('Latencies and tool calls so far.', Trace, {
      trace: {
        call_id: EXAMPLE_CALL_ID,
        latencies: [
          {
            at_ms: 2_600,
            total_ms: 740,
            stages: [
              { stage: 'stt', ms: 210 },
              { stage: 'llm', ms: 380 },
              { stage: 'tts', ms: 120 },
              { stage: 'own', ms: 30 },
            ],
          },
        ],
        tool_calls: [
          {
            name: 'find_slot',
            at_ms: 9_400,
            duration_ms: 180,
            succeeded: true,
            arguments: '{"day":"2026-12-24"}',
            result: '{"slots":["09:30"]}',
          },
        ],
      },
    }),
    errors: ['CALL_NOT_FOUND'],
  }),
  readWaveform: defineRoute({
    method: 'get',
    path: '/calls/{call_id}/waveform',
    tag: 'Calls',
    summary: 'Read the waveform of a recording',
    description:
      'Returns how loud both speakers are in up to 1,500 equal parts of the recording, to draw it without downloading it. Does not count as a download. The first request for a call of hours takes some seconds; if it takes longer than the service waits, the response is 503 with `Retry-After`, and a later request gets the result. Returns 404 when the recording does.',
    auth: 'keyOrSession',
    load: 'export',
    params: callParams,
    success: ratedJsonResponse('The waveform; both tracks have the same number of parts.', CallWaveform, {
      waveform: { call_id: EXAMPLE_CALL_ID, duration_ms: 40, caller: [0, 0, 96, 131], agent: [144, 80, 0, 0] },
    }),
    errors: ['CALL_NOT_FOUND', 'NOT_FOUND'],
  }),
  readRecording: defineRoute({
    method: 'get',
    path: '/calls/{call_id}/recording',
    tag: 'Calls',
    summary: 'Read the recording of a call',
    description:
      'Returns the recording as a WAV file. A request with a Range header for one range of bytes gets this part with status 206. With a login session and without `mode`, the call may be of either mode, so that a member can open `recording_url`. Returns 404 while there is none: before the call has ended, when nothing was recorded, and after the recording was deleted or erased. Returns 429 when the account has downloaded as many bytes of recordings as it may on this UTC day.',
    auth: 'keyOrSession',
    load: 'recording',
    params: callParams,
    success: {
      description: 'The recording as a WAV file.',
      contentType: 'audio/wav',
      schema: z.string().meta({ format: 'binary' }),
      examples: { recording: 'RIFF…' },
      headers: {
        ...headers,
        'Accept-Ranges': 'bytes: parts of the recording can be requested with Range and If-Range.',
        ETag: 'Identifies the content of the recording, for If-Range.',
      },
      mayBePartial: true,
    },
    errors: ['CALL_NOT_FOUND', 'NOT_FOUND', 'RANGE_NOT_SATISFIABLE'],
  }),
  eraseCall: defineRoute({
    method: 'post',
    path: '/calls/{call_id}/erase',
    tag: 'Calls',
    summary: 'Erase the personal data of a call',
    description:
      'Numbers, external_call_id, instruction, parameters, summary, transcript, recording, webhook_url and the stored webhook are removed for good; status, times and cost stay. Only for calls that have ended; may be repeated.',
    auth: 'keyOrSession',
    changes: 'mode',
    bounded: true,
    params: callParams,
    success: ratedJsonResponse('The personal data is erased.', EraseResponse, {
      erased: { call_id: EXAMPLE_CALL_ID, erased_at: '2026-11-21T11:00:00.000Z' },
    }),
    errors: ['CALL_NOT_FOUND', 'CONFLICT', 'CONCURRENCY_LIMIT_EXCEEDED'],
  }),
};
