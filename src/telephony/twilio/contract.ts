import { z } from 'zod';
import { callParams, EXAMPLE_CALL_ID } from '../../platform/http/contract/call-params.js';
import { defineRoute } from '../../platform/http/contract/route.js';
import type { CarrierApiContract } from '../carrier-api-contract.js';
import {
  AfterStreamQuery,
  CarrierRequestForm,
  FallbackForm,
  InboundCallForm,
  InboundCallQuery,
  MachineDetectionForm,
  StatusCallbackForm,
  TransferStatusForm,
} from './forms.js';

const FORM = 'application/x-www-form-urlencoded';
const TWIML = `<?xml version="1.0" encoding="UTF-8"?><Response><Connect><Stream url="wss://stream.example.com/${EXAMPLE_CALL_ID}"/></Connect><Redirect method="POST">https://calls.example.com/carrier/calls/${EXAMPLE_CALL_ID}/after-stream</Redirect></Response>`;
const TRANSFER = `<?xml version="1.0" encoding="UTF-8"?><Response><Dial action="https://calls.example.com/carrier/calls/${EXAMPLE_CALL_ID}/after-stream" method="POST" callerId="+12025550199" timeLimit="540"><Number statusCallback="https://calls.example.com/carrier/calls/${EXAMPLE_CALL_ID}/transfer-status#rc=3&amp;rp=5xx,ct,rt" statusCallbackEvent="answered" statusCallbackMethod="POST">+12025550143</Number></Dial></Response>`;
const REJECT = '<?xml version="1.0" encoding="UTF-8"?><Response><Reject reason="busy"/></Response>';
const HANG_UP = '<?xml version="1.0" encoding="UTF-8"?><Response><Hangup/></Response>';

const carrierForm = { AccountSid: `AC${'0'.repeat(32)}`, CallSid: `CA${'0'.repeat(32)}`, CallStatus: 'in-progress' };
/** The response to a status callback. */
const callbackResponse = {
  description: 'The callback was processed, or ignored because the call is unknown or has ended.',
  contentType: 'text/plain' as const,
  schema: z.string(),
  examples: { empty: '' },
};

const statusForm = {
  ...carrierForm,
  CallStatus: 'completed',
  SequenceNumber: '2',
  CallDuration: '47',
  Timestamp: 'Sat, 21 Nov 2026 10:00:51 +0000',
};

/** Properties that all callbacks share. */
const callback = {
  method: 'post',
  tag: 'Carrier callbacks',
  auth: 'carrier',
  changes: 'mode',
  readsItself: true,
  errors: [],
} as const;

/** Twilio's voice webhook. */
export const twilioInboundRoute = {
  receiveCall: defineRoute({
    method: 'post',
    path: '/inbound_call',
    tag: 'Calls',
    summary: 'Receive a call from the telephony provider',
    description:
      'The provider’s voice webhook. The agent is agent_id of the query, else agent_id of the form, else the agent assigned to the number ForwardedFrom, else the active inbound agent of the account that owns that number. A repeated webhook gets the same response and starts no second call. If the call is rejected, or a field is invalid, a request signed by the provider gets 200 with TwiML that rejects the call unanswered; so does a request whose signature cannot be checked because its body was not read to the end. Any other request gets the error. With a live key, the service first looks the call up at the carrier: CallSid must identify a live inbound call to the number To, and To, or the number ForwardedFrom that the carrier reports too, must be a number of the account; otherwise the response is 403.',
    auth: 'keyOrCarrier',
    changes: 'mode',
    readsItself: true,
    query: InboundCallQuery,
    body: {
      contentType: FORM,
      schema: InboundCallForm,
      examples: {
        forwarded: {
          CallSid: carrierForm.CallSid,
          From: '+12025550143',
          To: '+12025550199',
          ForwardedFrom: '+12025550188',
        },
      },
    },
    success: {
      description: 'TwiML that streams the call’s audio or rejects the call.',
      contentType: 'text/xml',
      schema: z.string(),
      examples: { stream: TWIML, reject: REJECT },
    },
    errors: [
      'MISSING_PARAMS',
      'INSUFFICIENT_BALANCE',
      'FORBIDDEN',
      'SPEND_LIMIT_EXCEEDED',
      'AGENT_NOT_FOUND',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'CONCURRENCY_LIMIT_EXCEEDED',
    ],
  }),
};

/** Requests and status callbacks of Twilio for a call it carries. */
export const twilioCallbackRoutes = {
  answerOutboundCall: defineRoute({
    ...callback,
    path: '/carrier/calls/{call_id}/twiml',
    summary: 'TwiML for an answered outbound call',
    description:
      'The carrier requests this when the callee answers. Returns TwiML that streams the call’s audio, or that hangs up when the call has ended or belongs to another carrier call.',
    params: callParams,
    body: { contentType: FORM, schema: CarrierRequestForm, examples: { answered: carrierForm } },
    success: {
      description: 'TwiML that streams the audio, or hangs up a call that is unknown or has ended.',
      contentType: 'text/xml',
      schema: z.string(),
      examples: { stream: TWIML, hangUp: HANG_UP },
    },
  }),
  reportOutboundStatus: defineRoute({
    ...callback,
    path: '/carrier/calls/{call_id}/status',
    summary: 'Status callback of an outbound call',
    description:
      'The carrier reports a change of status. An answer or an end updates the call; every callback is recorded in its timeline. Repeated callbacks change nothing.',
    params: callParams,
    body: { contentType: FORM, schema: StatusCallbackForm, examples: { completed: statusForm } },
    success: callbackResponse,
  }),
  reportAnsweredBy: defineRoute({
    ...callback,
    path: '/carrier/calls/{call_id}/amd',
    summary: 'Result of answering machine detection',
    description:
      'The carrier reports the result of answering machine detection. The agent reacts to it while the call is in progress.',
    params: callParams,
    body: {
      contentType: FORM,
      schema: MachineDetectionForm,
      examples: {
        machine: { ...carrierForm, AnsweredBy: 'machine_end_beep', MachineDetectionDuration: '4100' },
      },
    },
    success: callbackResponse,
  }),
  reportTransferStatus: defineRoute({
    ...callback,
    path: '/carrier/calls/{call_id}/transfer-status',
    summary: 'Status callback of a transfer',
    description:
      'The carrier reports that the number a call was transferred to has answered. The transfer then no longer counts as an unanswered attempt.',
    params: callParams,
    body: {
      contentType: FORM,
      schema: TransferStatusForm,
      examples: {
        answered: { ...carrierForm, CallSid: `CA${'1'.repeat(32)}`, ParentCallSid: carrierForm.CallSid },
      },
    },
    success: callbackResponse,
  }),
  reportInboundStatus: defineRoute({
    ...callback,
    path: '/carrier/status',
    summary: 'Status callback of a number, for inbound calls',
    description:
      'The carrier reports a change of status of an inbound call, which CallSid identifies. Otherwise as for outbound calls.',
    body: { contentType: FORM, schema: StatusCallbackForm, examples: { completed: statusForm } },
    success: callbackResponse,
  }),
  continueAfterStream: defineRoute({
    ...callback,
    path: '/carrier/calls/{call_id}/after-stream',
    summary: 'TwiML after an audio stream',
    description:
      'The carrier requests this when an audio stream ends. Returns TwiML that hangs up, transfers the call, or opens another stream when the previous one was lost.',
    params: callParams,
    query: AfterStreamQuery,
    body: { contentType: FORM, schema: CarrierRequestForm, examples: { streamEnded: carrierForm } },
    success: {
      description: 'TwiML that hangs up, transfers the call, or streams again after a lost stream.',
      contentType: 'text/xml',
      schema: z.string(),
      examples: { hangUp: HANG_UP, transfer: TRANSFER },
    },
  }),
  continueAfterError: defineRoute({
    ...callback,
    path: '/carrier/calls/{call_id}/fallback',
    summary: 'TwiML after a failed request',
    description:
      'The carrier requests this when it could not use the response to its last request for TwiML (ErrorUrl), for example because a proxy responded with 502. Returns the TwiML of that request. If a transfer may have been dialed already, it is not dialed again.',
    params: callParams,
    body: {
      contentType: FORM,
      schema: FallbackForm,
      examples: {
        badGateway: {
          ...carrierForm,
          ErrorCode: '11200',
          ErrorUrl: `https://calls.example.com/carrier/calls/${EXAMPLE_CALL_ID}/twiml`,
        },
      },
    },
    success: {
      description: 'TwiML as for the failed request.',
      contentType: 'text/xml',
      schema: z.string(),
      examples: { stream: TWIML, hangUp: HANG_UP },
    },
  }),
};

/** Twilio's part of the API. */
export const TWILIO_API = {
  inbound: twilioInboundRoute,
  callbacks: twilioCallbackRoutes,
  securitySchemes: {
    carrierSignature: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Twilio-Signature',
      description: 'The carrier’s signature over the public URL and all form fields.',
    },
  },
} as const satisfies CarrierApiContract;
