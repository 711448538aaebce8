import VoiceResponse from 'twilio/lib/twiml/VoiceResponse.js';
import type { Config } from '../../platform/config/config.js';
import type { ApiContext } from '../../platform/http/context.js';

/** From this resumption on a second is left to media processes that have to start first. */
const PAUSE_FROM_RESUMPTION = 2;

/**
 * Streams the call's audio to the media server; what follows runs when the stream has ended.
 * @param resumption number of a stream that takes the place of a lost one; it tells the media server and the next request
 */
export function streamTwiml(config: Config, callId: string, resumption?: number): string {
  const response = new VoiceResponse();
  if (resumption !== undefined && resumption >= PAUSE_FROM_RESUMPTION) response.pause({ length: 1 });
  const id = encodeURIComponent(callId);
  const stream = response.connect().stream({ url: `${config.streamUrl}/${id}` });
  if (resumption !== undefined) stream.parameter({ name: 'resumption', value: String(resumption) });
  const after = resumption === undefined ? '' : `?after=${resumption}`;
  response.redirect({ method: 'POST' }, `${config.publicBaseUrl}/carrier/calls/${id}/after-stream${after}`);
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
