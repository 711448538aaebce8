import VoiceResponse from 'twilio/lib/twiml/VoiceResponse.js';
import type { Config } from '../../platform/config/config.js';
import { CALLBACK_DELIVERY } from '../../telephony/twilio/callback-delivery.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { ConversationResultDocument } from '../../voice/results/model.js';
import { single, type FormFields } from '../../platform/http/form.js';
import { hangUpTwiml } from '../../telephony/twilio/twiml.js';

/** The carrier counts from the answer of the other side; the call's own limit ends both. */
const MIN_SECONDS = 1;

/**
 * What a carrier does with a call that its agent has put through, once the stream is over; undefined when the agent has
 * not. The carrier tells when the other side answers, and asks again when it is gone: with `DialCallStatus`, which says whether it ever came.
 * @param now ms since the epoch
 */
export function transferTwiml(
  config: Pick<Config, 'publicBaseUrl'>,
  request: CallRequestDocument,
  result: Pick<ConversationResultDocument, 'startedAt' | 'transferTo'> | null,
  form: FormFields,
  now: number,
): string | undefined {
  if (result?.transferTo === undefined) return undefined;
  const ended = single(form, 'DialCallStatus');
  if (ended !== undefined) return wasConnected(ended) ? hangUpTwiml() : nobodyThereTwiml();
  const talkedSeconds = Math.floor((now - result.startedAt.getTime()) / 1_000);
  const callUrl = `${config.publicBaseUrl}/carrier/calls/${encodeURIComponent(request._id)}`;
  const response = new VoiceResponse();
  const dial = response.dial({
    action: `${callUrl}/after-stream`,
    method: 'POST',
    // A number of ours: the carrier shows no other.
    callerId: request.direction === 'outbound' ? request.fromPhoneNumber : request.toPhoneNumber,
    timeLimit: Math.max(MIN_SECONDS, request.maxDurationSeconds - talkedSeconds),
  });
  dial.number(
    {
      statusCallback: `${callUrl}/transfer-status${CALLBACK_DELIVERY}`,
      statusCallbackEvent: ['answered'],
      statusCallbackMethod: 'POST',
    },
    result.transferTo,
  );
  return response.toString();
}

/** Whether the other side of a transfer answered. */
export function wasConnected(dialCallStatus: string): boolean {
  return dialCallStatus === 'completed' || dialCallStatus === 'answered';
}

function nobodyThereTwiml(): string {
  const response = new VoiceResponse();
  response.say('We are sorry, nobody could be reached. Goodbye.');
  response.hangup();
  return response.toString();
}
