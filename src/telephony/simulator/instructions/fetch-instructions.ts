import { addLog, noteError, type CallRecord } from '../call-record.js';
import { callFormFields } from '../callbacks.js';
import type { CallbackClient, WebhookAnswer } from '../webhook-client.js';
import { InstructionError, type TwimlSource, type WebhookTarget } from './source.js';
import { parseTwiml, type TwimlElement } from './twiml.js';

/** Twilio's limits for requests that a call waits for, in ms. */
const WEBHOOK_TIMEOUTS = { connectTimeout: 5_000, readTimeout: 15_000, totalTimeout: 15_000 };

interface FetchDeps {
  call: CallRecord;
  webhooks: CallbackClient;
}

/**
 * Fetches and parses the TwiML of a source, or of its fallback after an error, and logs each request and response.
 * @returns the verbs
 * @throws InstructionError
 */
export async function fetchInstructions(deps: FetchDeps, source: TwimlSource): Promise<TwimlElement[]> {
  const { call } = deps;
  if (source.kind === 'inline') return parse(call, source.twiml);
  const { target, fallback, extra = {} } = source;
  try {
    return parse(call, bodyOf(await ask(deps, target, 'twiml', extra)));
  } catch (error) {
    if (!(error instanceof InstructionError) || fallback === undefined) throw error;
    noteError(call, error.code, error.message);
    const fields = { ...extra, ErrorCode: String(error.code), ErrorUrl: target.url };
    return parse(call, bodyOf(await ask(deps, fallback, 'fallback', fields)));
  }
}

async function ask(
  { call, webhooks }: FetchDeps,
  target: WebhookTarget,
  purpose: 'twiml' | 'fallback',
  extra: Record<string, string>,
): Promise<WebhookAnswer> {
  const params = { ...callFormFields(call), ...extra };
  const at = new Date().toISOString();
  const webhook = { ...target, ...WEBHOOK_TIMEOUTS, params, authToken: call.account.authToken };
  let answer = await webhooks.send(webhook);
  // Retry once if the connection could not be established.
  if (!answer.ok && answer.cause === 'ct') answer = await webhooks.send(webhook);
  addLog(call.requests, {
    at,
    purpose,
    method: target.method,
    url: target.url,
    params,
    attempt: 1,
    ms: answer.ms,
    ...(answer.ok ? { status: answer.status, body: answer.body.slice(0, 4_000) } : { error: answer.error }),
  });
  return answer;
}

/** @throws InstructionError */
function bodyOf(answer: WebhookAnswer): string {
  if (!answer.ok) throw new InstructionError(answer.cause === 'ct' ? 11205 : 11200, `No answer: ${answer.error}.`);
  if (answer.status >= 300) throw new InstructionError(11200, `The answer was ${answer.status}.`);
  if (answer.contentType === '') throw new InstructionError(11200, 'The answer has no content type.');
  if (!/^(text|application)\/xml\b/i.test(answer.contentType)) {
    throw new InstructionError(12300, `The content type ${answer.contentType} is not XML.`);
  }
  return answer.body;
}

/** @throws InstructionError */
function parse(call: CallRecord, xml: string): TwimlElement[] {
  addLog(call.twiml, xml);
  try {
    return parseTwiml(xml);
  } catch (error) {
    throw new InstructionError(12100, error instanceof Error ? error.message : 'The document cannot be read.');
  }
}
