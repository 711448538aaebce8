import { addLog, logCallError, type CallRecord } from '../call-record.js';
import { callFormFields } from '../callbacks.js';
import type { CustomerClient, WebhookResponse } from '../webhook-client.js';
import { InstructionError, type TwimlSource, type WebhookTarget } from './source.js';
import { parseTwiml, type TwimlElement } from './twiml.js';

/** Twilio's limits for requests that a call waits for, in ms. */
const WEBHOOK_TIMEOUTS = { connectTimeout: 5_000, readTimeout: 15_000, totalTimeout: 15_000 };

interface FetchDeps {
  call: CallRecord;
  webhooks: CustomerClient;
}

/**
 * Fetches and parses TwiML from a source, or after an error from the source's fallback. Logs each request and response.
 * @returns the verbs
 * @throws InstructionError
 */
export async function fetchInstructions(deps: FetchDeps, source: TwimlSource): Promise<TwimlElement[]> {
  const { call } = deps;
  if (source.kind === 'inline') return parse(call, source.twiml);
  const { target, fallback, extra = {} } = source;
  try {
    return parse(call, requireBody(await sendRequest(deps, target, 'twiml', extra)));
  } catch (error) {
    if (!(error instanceof InstructionError) || fallback === undefined) throw error;
    logCallError(call, error.code, error.message);
    const fields = { ...extra, ErrorCode: String(error.code), ErrorUrl: target.url };
    return parse(call, requireBody(await sendRequest(deps, fallback, 'fallback', fields)));
  }
}

async function sendRequest(
  { call, webhooks }: FetchDeps,
  target: WebhookTarget,
  purpose: 'twiml' | 'fallback',
  extra: Record<string, string>,
): Promise<WebhookResponse> {
  const params = { ...callFormFields(call), ...extra };
  const at = new Date().toISOString();
  const webhook = { ...target, ...WEBHOOK_TIMEOUTS, params, authToken: call.account.authToken };
  let response = await webhooks.send(webhook);
  // Retry once if the connection could not be established.
  if (!response.ok && response.cause === 'ct') response = await webhooks.send(webhook);
  addLog(call.requests, {
    at,
    purpose,
    method: target.method,
    url: target.url,
    params,
    attempt: 1,
    ms: response.ms,
    ...(response.ok ? { status: response.status, body: response.body.slice(0, 4_000) } : { error: response.error }),
  });
  return response;
}

/** @throws InstructionError */
function requireBody(response: WebhookResponse): string {
  if (!response.ok)
    throw new InstructionError(response.cause === 'ct' ? 11205 : 11200, `No response: ${response.error}.`);
  if (response.status >= 300) throw new InstructionError(11200, `The response has status ${response.status}, not 2xx.`);
  if (response.contentType === '') throw new InstructionError(11200, 'The response has no content type.');
  if (!/^(text|application)\/xml\b/i.test(response.contentType)) {
    throw new InstructionError(
      12300,
      `The response has content type ${response.contentType}, not text/xml or application/xml.`,
    );
  }
  return response.body;
}

/** @throws InstructionError */
function parse(call: CallRecord, xml: string): TwimlElement[] {
  addLog(call.twiml, xml);
  try {
    return parseTwiml(xml);
  } catch (error) {
    throw new InstructionError(12100, error instanceof Error ? error.message : 'The TwiML cannot be parsed.');
  }
}
