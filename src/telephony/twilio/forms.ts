import { z } from 'zod';
import { agentId, externalCallId, text } from '../../platform/http/contract/fields.js';
import { ACCOUNT_SID, CALL_SID } from './identifiers.js';

/** A required, non-empty form field of the carrier. */
function carrierText(field: string, description: string, example: string) {
  return text(field, 255)
    .min(1, `${field} must not be empty.`)
    .meta({ description, examples: [example] });
}

const SID_FORM = 'followed by 32 digits 0 to 9 or a to f, in lower case';

/** A form field that contains a carrier identifier in the format that the adapter accepts. */
function carrierIdentifier(field: string, pattern: RegExp, fault: string) {
  return z
    .string({ error: (issue) => (issue.input === undefined ? `${field} is required.` : fault) })
    .regex(pattern, fault);
}

const callSid = carrierIdentifier('CallSid', CALL_SID, `CallSid must be CA ${SID_FORM}.`).meta({
  description: 'The carrier’s identifier of the call.',
  examples: ['CA0123456789abcdef0123456789abcdef'],
});
const accountSid = carrierIdentifier('AccountSid', ACCOUNT_SID, `AccountSid must be AC ${SID_FORM}.`);

export const InboundCallQuery = z.object({ agent_id: agentId.optional() });

/** The form a carrier posts for an incoming call. Further fields are ignored. */
export const InboundCallForm = z
  .object({
    CallSid: callSid,
    From: carrierText('From', 'Caller number; may be anonymous or a SIP address.', '+12025550143'),
    To: carrierText('To', 'Called number.', '+12025550199'),
    ForwardedFrom: text('ForwardedFrom', 255)
      .optional()
      .meta({ description: 'Present when the call was forwarded.', examples: ['+12025550188'] }),
    agent_id: agentId.optional(),
    external_call_id: externalCallId.optional(),
    AccountSid: accountSid.optional().meta({
      description:
        'Names the carrier account that has the call. If the request is signed, the signature must be that of this account.',
    }),
  })
  .meta({ id: 'InboundCallForm' });
export type InboundCallForm = z.infer<typeof InboundCallForm>;

/**
 * Requires only the fields that the signature check needs, and a well-formed call identifier. A callback is never
 * rejected because of other fields.
 */
const callbackFields = {
  AccountSid: accountSid.describe('Names the carrier account, and by it the mode.'),
  CallSid: callSid.optional().describe('The carrier’s identifier of the call; without it, the callback is ignored.'),
};

/** A status callback, with the fields that we read. */
export const StatusCallbackForm = z
  .looseObject({
    ...callbackFields,
    CallStatus: z
      .string()
      .optional()
      .describe('queued, initiated, ringing, in-progress, completed, busy, failed, no-answer or canceled.'),
    SequenceNumber: z.string().optional().describe('Order of firing, from 0.'),
    Timestamp: z.string().optional().describe('RFC 2822 time of the event.'),
    CallDuration: z.string().optional().describe('Duration of the call in seconds; only in the last callback.'),
    SipResponseCode: z
      .string()
      .optional()
      .describe('SIP status code of the end of the call. Absent when the carrier has none.'),
    AnsweredBy: z.string().optional().describe('Result of answering machine detection. Absent when there is none.'),
  })
  .meta({ id: 'StatusCallbackForm' });

/** The result of the carrier's answering machine detection. */
export const MachineDetectionForm = z
  .looseObject({
    ...callbackFields,
    AnsweredBy: z
      .string()
      .optional()
      .describe('human, machine_start, machine_end_beep, machine_end_silence, machine_end_other, fax or unknown.'),
    MachineDetectionDuration: z.string().optional().describe('Milliseconds it took.'),
  })
  .meta({ id: 'MachineDetectionForm' });

/** A status callback for the other leg of a transferred call. */
export const TransferStatusForm = z
  .looseObject({
    ...callbackFields,
    CallSid: callSid.optional().describe('The carrier’s identifier of the leg to the number that was dialed.'),
    ParentCallSid: z
      .string()
      .optional()
      .describe('The carrier’s identifier of the call; the callback is ignored unless it is that of this call.'),
    CallStatus: z
      .string()
      .optional()
      .describe('in-progress or completed: the number has answered. Others change nothing.'),
  })
  .meta({ id: 'TransferStatusForm' });

/** The form the carrier sends with a request for TwiML. */
export const CarrierRequestForm = z
  .looseObject({
    ...callbackFields,
    DialCallStatus: z.string().optional().describe('Result of a finished transfer.'),
  })
  .meta({ id: 'CarrierRequestForm' });

/** The query of the URL that we give for the request after an audio stream. Any value that we did not write counts as absent. */
export const AfterStreamQuery = z.object({
  after: z
    .string()
    .optional()
    .meta({
      description: 'Number of the audio stream, as the service wrote it into this URL; absent for the first stream, 0.',
      examples: ['1'],
    }),
});

/** The form the carrier sends after it could not use our response to an earlier request for TwiML. */
export const FallbackForm = z
  .looseObject({
    ...callbackFields,
    ErrorCode: z.string().optional().describe('The carrier’s error code, such as 11200.'),
    ErrorUrl: z.string().optional().describe('The URL whose response could not be used.'),
    DialCallStatus: z.string().optional().describe('Result of a finished transfer.'),
  })
  .meta({ id: 'FallbackForm' });
