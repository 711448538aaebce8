import VoiceResponse from 'twilio/lib/twiml/VoiceResponse.js';
import type { Config } from '../config.js';
import type { ApiContext } from './context.js';

/** Streams the call's audio to the media server; what follows runs when the stream has ended. */
export function streamTwiml(config: Config, callId: string): string {
  const response = new VoiceResponse();
  response.connect().stream({ url: `${config.streamUrl}/${callId}` });
  response.redirect({ method: 'POST' }, `${config.publicBaseUrl}/carrier/calls/${callId}/after-stream`);
  return response.toString();
}

export function hangUpTwiml(): string {
  const response = new VoiceResponse();
  response.hangup();
  return response.toString();
}

/** For a call that was answered while we cannot tell whether it is wanted. */
export function apologyTwiml(): string {
  const response = new VoiceResponse();
  response.say('We are sorry, this call cannot be connected right now. Goodbye.');
  response.hangup();
  return response.toString();
}

/** Sends XML in one piece: carriers refuse it chunked. */
export function sendTwiml(ctx: ApiContext, twiml: string): void {
  ctx.status = 200;
  ctx.set('Content-Type', 'text/xml; charset=utf-8');
  ctx.body = twiml;
}
