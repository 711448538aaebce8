import { z } from 'zod';
import { callParams, EXAMPLE_CALL_ID } from '../../platform/http/contract/call-params.js';
import { defineRoute } from '../../platform/http/contract/route.js';
import {
  CarrierRequestForm,
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
const noted = {
  description: 'Taken note of; also when the call is unknown or over.',
  contentType: 'text/plain' as const,
  schema: z.string(),
  examples: { noted: '' },
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

/** How Twilio authenticates, for the OpenAPI document. */
export const TWILIO_SIGNATURE = {
  type: 'apiKey',
  in: 'header',
  name: 'X-Twilio-Signature',
  description: 'The carrier’s signature over the public URL and all form fields.',
} as const;

/** Twilio's voice webhook. */
export const twilioInboundRoute = {
  receiveCall: defineRoute({
    method: 'post',
    path: '/inbound_call',
    tag: 'Calls',
    summary: 'Receive a call from the telephony provider',
    description:
      'The provider’s voice webhook. The agent is the one of agent_id in the query, else of agent_id in the form, else the one assigned to the number ForwardedFrom, else the active inbound agent of the account that owns that number. A repeated webhook gives the same answer and no second call. A request that the provider signed is answered 200 with TwiML that rejects the call unanswered whenever the call is not taken, as is one whose signature cannot be checked because its body is not read to the end; any other request gets the error. With a live key the carrier is asked first: CallSid must name a live inbound call to the number To, and To, or the number ForwardedFrom that the carrier knows too, must be a number of the account; otherwise 403.',
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
      description: 'Tells the provider to stream the call’s audio, or to reject the call.',
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
      description: 'Stream the audio, or hang up a call that is not, or no longer, wanted.',
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
    success: noted,
  }),
  reportAnsweredBy: defineRoute({
    ...callback,
    path: '/carrier/calls/{call_id}/amd',
    summary: 'Who answered an outbound call, by the carrier’s detection of answering machines',
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
    success: noted,
  }),
  reportTransferStatus: defineRoute({
    ...callback,
    path: '/carrier/calls/{call_id}/transfer-status',
    summary: 'The number that a call was transferred to has answered',
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
    success: noted,
  }),
  reportInboundStatus: defineRoute({
    ...callback,
    path: '/carrier/status',
    summary: 'Status callback of a number, for inbound calls',
    description:
      'The carrier reports a change of status of an inbound call, which CallSid identifies. Otherwise as for outbound calls.',
    body: { contentType: FORM, schema: StatusCallbackForm, examples: { completed: statusForm } },
    success: noted,
  }),
  continueAfterStream: defineRoute({
    ...callback,
    path: '/carrier/calls/{call_id}/after-stream',
    summary: 'What the carrier does when the audio stream has ended',
    description:
      'The carrier requests this when an audio stream ends. Returns TwiML that hangs up, transfers the call, or opens another stream when the previous one was lost.',
    params: callParams,
    body: { contentType: FORM, schema: CarrierRequestForm, examples: { streamEnded: carrierForm } },
    success: {
      description:
        'Hang up, put the call through to the number that the agent has transferred it to, or stream again after a lost stream.',
      contentType: 'text/xml',
      schema: z.string(),
      examples: { hangUp: HANG_UP, transfer: TRANSFER },
    },
  }),
};
