import VoiceResponse from 'twilio/lib/twiml/VoiceResponse.js';
import type { CallInstruction, Markup } from '../callbacks.js';
import { CALLBACK_DELIVERY } from './callback-delivery.js';

/** From this resumption on a second is left to media processes that have to start first. */
const PAUSE_FROM_RESUMPTION = 2;

interface Addresses {
  publicBaseUrl: string;
  streamUrl: string;
}

/** What the carrier is to do with a call, in TwiML. */
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

/** Streams the call's audio to the media server; what follows runs when the stream has ended. */
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

/** The carrier tells when the other side answers, and asks again when it is gone. */
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

/** Only as the first verb it keeps the call from being answered. */
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
