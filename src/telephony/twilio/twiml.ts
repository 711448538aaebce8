import VoiceResponse from 'twilio/lib/twiml/VoiceResponse.js';
import type { CallInstruction, Markup } from '../callbacks.js';
import { CALLBACK_DELIVERY } from './callback-delivery.js';

/** For this stream number and later ones, pause one second before the stream, so that a media process can start. */
const PAUSE_FROM_STREAM_NUMBER = 2;

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
      return apologyTwiml(instruction.text);
    case 'hang_up':
      return apologyTwiml(undefined);
    case 'reject':
      return rejectTwiml();
  }
}

/** Streams the call's audio to the media server. The verbs after it run when the stream has ended. */
function streamTwiml(
  { publicBaseUrl, streamUrl }: Addresses,
  { callId, streamNumber }: Extract<CallInstruction, { kind: 'stream' }>,
): string {
  const response = new VoiceResponse();
  if (streamNumber !== undefined && streamNumber >= PAUSE_FROM_STREAM_NUMBER) response.pause({ length: 1 });
  const id = encodeURIComponent(callId);
  const stream = response.connect().stream({ url: `${streamUrl}/${id}` });
  if (streamNumber !== undefined) stream.parameter({ name: 'resumption', value: String(streamNumber) });
  const after = streamNumber === undefined ? '' : `?after=${streamNumber}`;
  response.redirect({ method: 'POST' }, `${publicBaseUrl}/carrier/calls/${id}/after-stream${after}`);
  return response.toString();
}

/** The carrier reports when the target of the transfer answers, and asks for instructions when the transfer is over. */
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

/** The Reject verb avoids answering the call only if it comes first. */
function rejectTwiml(): string {
  const response = new VoiceResponse();
  response.reject({ reason: 'busy' });
  return response.toString();
}

function apologyTwiml(text: string | undefined): string {
  const response = new VoiceResponse();
  if (text !== undefined) response.say(text);
  response.hangup();
  return response.toString();
}
