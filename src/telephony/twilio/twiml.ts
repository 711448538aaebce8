import VoiceResponse from 'twilio/lib/twiml/VoiceResponse.js';
import type { CallInstruction, Markup } from '../callbacks.js';
import { CALLBACK_DELIVERY } from './callback-delivery.js';

/** From this stream number on, pause one second before reconnecting, so that a media process can start. */
const PAUSE_FROM_RESUMPTION = 2;

interface Addresses {
  publicBaseUrl: string;
  streamUrl: string;
}

/** Renders an instruction as TwiML. */
export function renderTwiml(addresses: Addresses, instruction: CallInstruction): Markup {
  return { contentType: 'text/xml; charset=utf-8', body: twimlOf(addresses, instruction) };
}

function twimlOf(addresses: Addresses, instruction: CallInstruction): string {
  switch (instruction.kind) {
    case 'stream':
      return streamTwiml(addresses, instruction);
    case 'transfer':
      return transferTwiml(addresses, instruction);
    case 'apology':
      return apologyTwiml(instruction.words);
    case 'hang_up':
      return apologyTwiml(undefined);
    case 'reject':
      return rejectTwiml();
  }
}

/** Streams the call's audio to the media server. The verbs after it run when the stream has ended. */
function streamTwiml(
  { publicBaseUrl, streamUrl }: Addresses,
  { callId, resumption }: Extract<CallInstruction, { kind: 'stream' }>,
): string {
  const response = new VoiceResponse();
  if (resumption !== undefined && resumption >= PAUSE_FROM_RESUMPTION) response.pause({ length: 1 });
  const id = encodeURIComponent(callId);
  const stream = response.connect().stream({ url: `${streamUrl}/${id}` });
  if (resumption !== undefined) stream.parameter({ name: 'resumption', value: String(resumption) });
  const after = resumption === undefined ? '' : `?after=${resumption}`;
  response.redirect({ method: 'POST' }, `${publicBaseUrl}/carrier/calls/${id}/after-stream${after}`);
  return response.toString();
}

/** The carrier reports when the other party answers, and requests new instructions when the transfer is over. */
function transferTwiml(
  { publicBaseUrl }: Addresses,
  { callId, to, callerId, timeLimitSeconds }: Extract<CallInstruction, { kind: 'transfer' }>,
): string {
  const callUrl = `${publicBaseUrl}/carrier/calls/${encodeURIComponent(callId)}`;
  const response = new VoiceResponse();
  const dial = response.dial({
    action: `${callUrl}/after-stream`,
    method: 'POST',
    callerId,
    timeLimit: timeLimitSeconds,
  });
  dial.number(
    {
      statusCallback: `${callUrl}/transfer-status${CALLBACK_DELIVERY}`,
      statusCallbackEvent: ['answered'],
      statusCallbackMethod: 'POST',
    },
    to,
  );
  return response.toString();
}

/** Reject avoids answering the call only if it is the first verb. */
function rejectTwiml(): string {
  const response = new VoiceResponse();
  response.reject({ reason: 'busy' });
  return response.toString();
}

function apologyTwiml(words: string | undefined): string {
  const response = new VoiceResponse();
  if (words !== undefined) response.say(words);
  response.hangup();
  return response.toString();
}
